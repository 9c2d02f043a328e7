import { LRUCache } from 'lru-cache';
import { v7 as uuidv7 } from 'uuid';

import { mcpVersions, statelessVersion } from '#contracts/mcp';
import type { McpVersion } from '#contracts/mcp';
import type { Egress } from '#egress';
import { inject } from '../domain/inject.ts';
import type { HeaderPair } from '../domain/request.ts';
import { exchangeRpc, headerOf, notMcp } from './exchange.ts';
import type { McpServer, RpcAnswer } from './exchange.ts';
import { initializeParams, sessionMessage } from './protocol.ts';

/** What `initialize` agreed on with a server. */
export interface McpSession {
  readonly protocolVersion: McpVersion;
  /** Null: the server keeps no sessions. */
  readonly id: string | null;
}

export interface Opening {
  readonly server: McpServer;
  /** The revision it was found to speak. */
  readonly version: string;
  readonly timeoutMs: () => number;
}

/** How long an unused session is kept: agents make several calls in a row. */
const keptMs = 5 * 60_000;
/** A session that was idle for longer is asked whether it is still there before a call rests on it. */
const trustedMs = 10_000;
const sessionsMax = 1_000;
const bytesMax = 262_144;
const newestSession = '2025-11-25';
/** MCP: visible ASCII. */
const sessionId = /^[\x21-\x7e]{1,512}$/;

/**
 * Sessions by who uses them with which service and credential: in memory, for minutes, and never
 * shared between identities, since a server may remember in one what an agent did.
 */
export interface McpSessions {
  take(key: string, opening: Opening): Promise<McpSession>;
  /** The server does not know it any more. */
  drop(key: string, session: McpSession): void;
}

export function createMcpSessions(egress: Egress): McpSessions {
  const kept = new LRUCache<string, { session: McpSession; usedAt: number }>({
    max: sessionsMax,
    ttl: keptMs,
    updateAgeOnGet: true,
  });
  return {
    async take(key, opening) {
      const known = kept.get(key);
      const now = performance.now();
      const isKnown =
        known !== undefined &&
        (known.session.id === null ||
          now - known.usedAt < trustedMs ||
          (await isAlive(egress, known.session, opening)));
      const session = isKnown ? known.session : await openSession(egress, opening);
      kept.set(key, { session, usedAt: performance.now() });
      return session;
    },
    drop(key, session) {
      if (kept.peek(key)?.session === session) kept.delete(key);
    },
  };
}

/** `initialize` and its notification. What goes wrong here is not the call's doing: it has not been sent. */
export async function openSession(
  egress: Egress,
  { server, version, timeoutMs }: Opening,
): Promise<McpSession> {
  const wanted = version === statelessVersion ? newestSession : version;
  const answer = await exchangeRpc(egress, server, {
    ...sessionMessage('initialize', initializeParams(wanted)),
    id: uuidv7(),
    timeoutMs: timeoutMs(),
    maxBytes: bytesMax,
  });
  const offered = requireResult(answer)['protocolVersion'];
  const protocolVersion = mcpVersions.find((each) => each === offered);
  if (protocolVersion === undefined || protocolVersion === statelessVersion) {
    throw notMcp('The MCP server speaks no revision of the protocol that is known here.');
  }
  const id = headerOf(answer.headers, 'mcp-session-id') ?? null;
  if (id !== null && !sessionId.test(id)) throw notMcp('The MCP server gave an unusable session.');
  const session = { protocolVersion, id };
  const message = sessionMessage('notifications/initialized');
  const { status } = await exchangeRpc(egress, server, {
    ...message,
    headers: [...message.headers, ...sessionHeaders(session)],
    id: null,
    timeoutMs: timeoutMs(),
    maxBytes: bytesMax,
  });
  if (status >= 300) throw notMcp('The MCP server did not take the session it had opened.', status);
  return session;
}

/** What tells a server which session and revision a message is of; never part of what is approved. */
export function sessionHeaders({ protocolVersion, id }: McpSession): HeaderPair[] {
  const version: HeaderPair = ['mcp-protocol-version', protocolVersion];
  return id === null ? [version] : [version, ['mcp-session-id', id]];
}

const courtesyMs = 3_000;

/** A courtesy to the server; what it answers is of no interest. Never fails. */
export async function closeSession(
  egress: Egress,
  { server: { url, credentials }, session }: { server: McpServer; session: McpSession },
): Promise<void> {
  if (session.id === null) return;
  try {
    const headers = sessionHeaders(session);
    const totalTimeoutMs = courtesyMs;
    await egress.request({
      method: 'DELETE',
      ...inject({ url, headers }, credentials),
      totalTimeoutMs,
    });
  } catch {
    // It will forget the session by itself.
  }
}

/** Says that nobody waits for an answer any more (MCP, Cancellation); the server may go on all the same. Never fails. */
export async function cancelRequest(
  egress: Egress,
  { server, session, id }: { server: McpServer; session: McpSession; id: string },
): Promise<void> {
  const params = { requestId: id, reason: 'The time for it is over.' };
  const message = sessionMessage('notifications/cancelled', params);
  try {
    await exchangeRpc(egress, server, {
      ...message,
      headers: [...message.headers, ...sessionHeaders(session)],
      id: null,
      timeoutMs: courtesyMs,
      maxBytes: bytesMax,
    });
  } catch {
    // It will find nobody who listens.
  }
}

async function isAlive(
  egress: Egress,
  session: McpSession,
  { server, timeoutMs }: Opening,
): Promise<boolean> {
  const message = sessionMessage('ping');
  const { status } = await exchangeRpc(egress, server, {
    ...message,
    headers: [...message.headers, ...sessionHeaders(session)],
    id: uuidv7(),
    timeoutMs: timeoutMs(),
    maxBytes: bytesMax,
  });
  return status < 300;
}

/** The result of something we only ask, or an error that says what the server did instead. */
export function requireResult({
  status,
  message,
}: RpcAnswer): NonNullable<NonNullable<RpcAnswer['message']>['result']> {
  if (message?.result !== undefined && status < 300) return message.result;
  if (status === 401 || status === 403) {
    throw notMcp(
      `The MCP server answered ${status}: it wants another credential than the service has.`,
      status,
    );
  }
  const code: unknown = message?.error?.code;
  const said = typeof code === 'number' ? ` (error ${code})` : '';
  throw notMcp(`The MCP server answered ${status}${said}, and not as the protocol says.`, status);
}
