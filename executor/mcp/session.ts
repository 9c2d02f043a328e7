import { LRUCache } from 'lru-cache';
import { v7 as uuidv7 } from 'uuid';

import { mcpVersions, statelessVersion } from '#contracts/mcp';
import type { McpVersion } from '#contracts/mcp';
import type { Egress } from '#egress';
import { injectCredential } from '../request/domain/inject.ts';
import type { HeaderPair } from '../request/domain/built-request.ts';
import { exchangeRpc, headerValueOf, mcpViolationError } from './exchange.ts';
import type { McpServer, RpcAnswer } from './exchange.ts';
import { initializeParamsOf, createSessionMessage } from '../request/domain/mcp-message.ts';

/** A session with an MCP server, after `initialize`. */
export interface McpSession {
  readonly protocolVersion: McpVersion;
  /** Null when the server gave no session id. */
  readonly id: string | null;
}

export interface SessionToOpen {
  readonly server: McpServer;
  /** The protocol revision that was found when the tools were discovered. */
  readonly version: string;
  readonly timeoutMs: () => number;
}

/** How long an unused session is kept. Agents often make several calls in a row. */
const keptMs = 5 * 60_000;
/** After this idle time a session is checked before a call uses it. */
const uncheckedIdleMs = 10_000;
const sessionsMax = 1_000;
const answerBytesMax = 262_144;
const newestSessionVersion = '2025-11-25';
/** A session id consists of visible ASCII characters (MCP, Session Management). */
const sessionIdPattern = /^[\x21-\x7e]{1,512}$/;

/**
 * Keeps sessions with MCP servers in memory for minutes. Each session belongs to one identity,
 * service and credential. A server may store in a session what an agent did, so identities never
 * share a session.
 */
export interface McpSessions {
  take(key: string, sessionToOpen: SessionToOpen): Promise<McpSession>;
  /** Forgets a session that the server has ended. */
  drop(key: string, session: McpSession): void;
}

export function createMcpSessions(egress: Egress): McpSessions {
  const sessions = new LRUCache<string, { session: McpSession; usedAt: number }>({
    max: sessionsMax,
    ttl: keptMs,
    updateAgeOnGet: true,
  });
  return {
    async take(key, sessionToOpen) {
      const cachedSession = sessions.get(key);
      const nowMs = performance.now();
      const isUsable =
        cachedSession !== undefined &&
        (cachedSession.session.id === null ||
          nowMs - cachedSession.usedAt < uncheckedIdleMs ||
          (await isAlive(egress, cachedSession.session, sessionToOpen)));
      const session = isUsable ? cachedSession.session : await openSession(egress, sessionToOpen);
      sessions.set(key, { session, usedAt: performance.now() });
      return session;
    },
    drop(key, session) {
      if (sessions.peek(key)?.session === session) sessions.delete(key);
    },
  };
}

/**
 * Opens a session with `initialize` and the notification after it. When this fails, the call itself
 * has not been sent yet.
 */
export async function openSession(
  egress: Egress,
  { server, version, timeoutMs }: SessionToOpen,
): Promise<McpSession> {
  const requestedVersion = version === statelessVersion ? newestSessionVersion : version;
  const answer = await exchangeRpc(egress, server, {
    ...createSessionMessage('initialize', initializeParamsOf(requestedVersion)),
    id: uuidv7(),
    timeoutMs: timeoutMs(),
    maxBytes: answerBytesMax,
  });
  const offeredVersion = requireResult(answer)['protocolVersion'];
  const protocolVersion = mcpVersions.find((each) => each === offeredVersion);
  if (protocolVersion === undefined || protocolVersion === statelessVersion) {
    throw mcpViolationError(
      'The MCP server speaks no revision of the protocol that is known here.',
    );
  }
  const id = headerValueOf(answer.headers, 'mcp-session-id') ?? null;
  if (id !== null && !sessionIdPattern.test(id))
    throw mcpViolationError('The MCP server gave an unusable session.');
  const session = { protocolVersion, id };
  const message = createSessionMessage('notifications/initialized');
  const { status } = await exchangeRpc(egress, server, {
    ...message,
    headers: [...message.headers, ...sessionHeadersOf(session)],
    id: null,
    timeoutMs: timeoutMs(),
    maxBytes: answerBytesMax,
  });
  if (status >= 300)
    throw mcpViolationError('The MCP server did not take the session it had opened.', status);
  return session;
}

/**
 * The headers that name the session and the protocol revision. They are added when a request is
 * sent and are not part of the approved request.
 */
export function sessionHeadersOf({ protocolVersion, id }: McpSession): HeaderPair[] {
  const version: HeaderPair = ['mcp-protocol-version', protocolVersion];
  return id === null ? [version] : [version, ['mcp-session-id', id]];
}

const cleanupTimeoutMs = 3_000;

/** Ends a session. Never throws, and ignores the server's answer. */
export async function closeSession(
  egress: Egress,
  { server: { url, credentials }, session }: { server: McpServer; session: McpSession },
): Promise<void> {
  if (session.id === null) return;
  try {
    const headers = sessionHeadersOf(session);
    const totalTimeoutMs = cleanupTimeoutMs;
    await egress.request({
      method: 'DELETE',
      ...injectCredential({ method: 'DELETE', url, headers, body: null }, credentials),
      totalTimeoutMs,
    });
  } catch {
    // The server cannot be reached. It ends unused sessions by itself, so this failure does no
    // harm.
  }
}

/**
 * Tells the server that the answer to a request is not needed any more (MCP, Cancellation). The
 * server may go on with the request. Never throws.
 */
export async function cancelRequest(
  egress: Egress,
  { server, session, id }: { server: McpServer; session: McpSession; id: string },
): Promise<void> {
  const params = { requestId: id, reason: 'The time for it is over.' };
  const message = createSessionMessage('notifications/cancelled', params);
  try {
    await exchangeRpc(egress, server, {
      ...message,
      headers: [...message.headers, ...sessionHeadersOf(session)],
      id: null,
      timeoutMs: cleanupTimeoutMs,
      maxBytes: answerBytesMax,
    });
  } catch {
    // The server cannot be reached. It can still see that the connection for the answer was closed.
  }
}

async function isAlive(
  egress: Egress,
  session: McpSession,
  { server, timeoutMs }: SessionToOpen,
): Promise<boolean> {
  const message = createSessionMessage('ping');
  const { status } = await exchangeRpc(egress, server, {
    ...message,
    headers: [...message.headers, ...sessionHeadersOf(session)],
    id: uuidv7(),
    timeoutMs: timeoutMs(),
    maxBytes: answerBytesMax,
  });
  return status < 300;
}

/** Returns the result of a request, or throws an error that contains the server's answer. */
export function requireResult({
  status,
  message,
}: RpcAnswer): NonNullable<NonNullable<RpcAnswer['message']>['result']> {
  if (message?.result !== undefined && status < 300) return message.result;
  if (status === 401 || status === 403) {
    throw mcpViolationError(
      `The MCP server answered ${status}: it wants another credential than the service has.`,
      status,
    );
  }
  const code: unknown = message?.error?.code;
  const errorNote = typeof code === 'number' ? ` (error ${code})` : '';
  throw mcpViolationError(
    `The MCP server answered ${status}${errorNote}, and not as the protocol says.`,
    status,
  );
}
