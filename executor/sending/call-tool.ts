import { LRUCache } from 'lru-cache';
import { v7 as uuidv7 } from 'uuid';

import { statelessVersion } from '#contracts/mcp';
import type { ToolDefinition } from '#contracts/mcp';
import type { Permit } from '#contracts/permit';
import { mayHaveLeft, receivedHead } from '#egress';
import { AppError } from '#errors';
import { digestOf } from '#signing';
import type { Deps } from '../deps.ts';
import { removeCredentials } from './domain/without-credentials.ts';
import { exchangeRpc } from '../mcp/exchange.ts';
import type { RpcAnswer } from '../mcp/exchange.ts';
import { cancelRequest, sessionHeadersOf } from '../mcp/session.ts';
import type { McpSession } from '../mcp/session.ts';
import { findTool } from '../mcp/tools.ts';
import { approvalStaleError } from '../request/approval-stale.ts';
import { toolsMayHaveChanged } from './tools-may-have-changed.ts';
import type { Sending, SendOutcome } from './sending.ts';

type ToolDeps = Pick<Deps, 'egress' | 'mcpSessions' | 'toolChanges'>;

/**
 * The limit of one answer. An answer may contain bytes as base64 in JSON, and parsing makes several
 * copies of it in memory.
 */
const answerBytesMax = 8 * 1024 * 1024;

/**
 * Sends one `tools/call` at most once. Opens a session first if the server needs one. When the
 * server has lost the session, this call fails and only the next call opens a new session. Reports
 * to the registry when the server's tools seem to have changed.
 */
export async function callToolOnce(
  deps: ToolDeps,
  sending: Sending,
  beforeSend: () => void,
): Promise<SendOutcome> {
  const observations = { isListChanged: false };
  const onListChanged = () => void (observations.isListChanged = true);
  const sendOutcome = await sendCall(deps, { ...sending, onListChanged, beforeSend });
  const isChanged = observations.isListChanged || toolsMayHaveChanged(sendOutcome);
  deps.toolChanges[isChanged ? 'changed' : 'used'](serviceOf(sending));
  return sendOutcome;
}

interface ObservedSending extends Sending {
  readonly onListChanged: () => void;
  readonly beforeSend: () => void;
}

async function sendCall(deps: ToolDeps, sending: ObservedSending): Promise<SendOutcome> {
  const { request } = sending.prepared;
  const { url } = request;
  const timeoutMs = createRemainingMs(sending.timeoutMs);
  const server = serverOf(sending);
  const id = uuidv7();
  let refusal: unknown;
  let session: McpSession | null;
  try {
    session = await takeSession(deps, sending, timeoutMs);
  } catch (error) {
    return { kind: 'unsent', error: AppError.from(error) };
  }
  try {
    const answer = await exchangeRpc(deps.egress, server, {
      body: request.body ?? new Uint8Array(),
      headers: [...request.headers, ...(session === null ? [] : sessionHeadersOf(session))],
      id,
      timeoutMs: timeoutMs(),
      maxBytes: answerBytesMax,
      beforeSend: () => {
        try {
          sending.beforeSend();
        } catch (error) {
          refusal = error;
          throw error;
        }
      },
    });
    if (answer.status === 404 && session !== null) {
      deps.mcpSessions.drop(sessionKeyOf(sending), session);
    }
    return settleAnswer(answer, url);
  } catch (thrown) {
    const error = AppError.from(thrown);
    if (refusal !== undefined || !mayHaveLeft(thrown)) return { kind: 'unsent', error };
    const head = receivedHead(thrown);
    // With status 200 the tool may still be working when the connection breaks. An error status
    // shows that it is not.
    if (head === undefined || head.status < 300 || head.status > 599) {
      if (session !== null && error.code === 'upstream_timeout') {
        void cancelRequest(deps.egress, { server, session, id });
      }
      return { kind: 'unknown', error };
    }
    const omissionReason = error.code === 'response_too_large' ? 'too_large' : 'incomplete';
    return { kind: 'answered', answer: { ...head, body: null, lost: omissionReason, url } };
  }
}

/**
 * The outcome according to the server's answer. When the stream ended without an answer, the
 * outcome is unknown.
 */
function settleAnswer(answer: RpcAnswer, url: string): SendOutcome {
  const { status, message, isEventStream, lost } = answer;
  const isKnown = message !== undefined || status >= 300 || !isEventStream;
  if (isKnown && status <= 599) return { kind: 'answered', answer: { ...answer, url } };
  const code = lost === null ? 'upstream_incomplete' : 'response_too_large';
  const error = new AppError(code, 'The MCP server ended its answer without the result.');
  return { kind: 'unknown', error };
}

function serverOf({ prepared, credentials, onListChanged }: Sending & Partial<ObservedSending>) {
  const { url } = prepared.request;
  return { url, credentials, ...(onListChanged === undefined ? {} : { onListChanged }) };
}

async function takeSession(
  { mcpSessions }: ToolDeps,
  sending: Sending & Partial<ObservedSending>,
  timeoutMs: () => number,
): Promise<McpSession | null> {
  const { tool } = sending.prepared;
  if (tool === undefined || tool.version === statelessVersion) return null;
  const sessionToOpen = { server: serverOf(sending), version: tool.version, timeoutMs };
  return mcpSessions.take(sessionKeyOf(sending), sessionToOpen);
}

/**
 * A session belongs to one identity, service and credential, because servers keep data in sessions.
 */
function sessionKeyOf({ permit, credentials, prepared }: Sending): string {
  const { orgId, serviceId } = serviceOf({ permit });
  const ids = credentials.map(({ injection }) => injection.credentialId);
  return [orgId, permit.identityId, serviceId, prepared.request.url, ...ids].join(' ');
}

function serviceOf({ permit: { orgId, target } }: Pick<Sending, 'permit'>) {
  return { orgId, serviceId: target.kind === 'raw' ? '' : target.serviceId };
}

type ReplayedToolCall = Sending & { readonly permit: Pick<Permit, 'dispatchId'> };

/**
 * Approved calls whose tool was found unchanged within the last 30 seconds. A retry of such a call
 * does not check its tool again.
 */
const verifiedReplays = new LRUCache<string, true>({ max: 1_000, ttl: 30_000 });

/**
 * Throws unless the tool of an approved call is still the one that the approver read about: the
 * server may have changed it since the discovery. The check only lists tools and sends nothing of
 * the call.
 */
export async function requireSameTool(deps: ToolDeps, replay: ReplayedToolCall): Promise<void> {
  const { tool } = replay.prepared;
  const { dispatchId } = replay.permit;
  if (tool === undefined || verifiedReplays.has(dispatchId)) return;
  const offeredTool = await findOfferedTool(deps, replay, tool.name);
  if (offeredTool !== undefined && digestOf(offeredTool) === tool.pin.hash) {
    verifiedReplays.set(dispatchId, true);
    return;
  }
  deps.toolChanges.changed(serviceOf(replay));
  throw approvalStaleError(
    `The MCP server ${offeredTool === undefined ? 'has no tool' : 'changed its tool'} ${tool.name} since it was accepted`,
  );
}

/**
 * Lists the tools in the session that the call will use. If the session is lost, opens another one
 * and tries again, because listing changes nothing.
 */
async function findOfferedTool(
  deps: ToolDeps,
  replay: ReplayedToolCall,
  name: string,
): Promise<ToolDefinition | undefined> {
  const { credentials } = replay;
  const server = serverOf(replay);
  const timeoutMs = createRemainingMs(replay.timeoutMs);
  for (let attempt = 1; ; attempt += 1) {
    const session = await takeSession(deps, replay, timeoutMs);
    try {
      const offeredTool = await findTool(deps.egress, { server, timeoutMs, session }, name);
      return offeredTool && removeCredentials(offeredTool, credentials);
    } catch (error) {
      const isLost = AppError.from(error).details['status_code'] === 404;
      if (session === null || !isLost || attempt === 2) throw error;
      deps.mcpSessions.drop(sessionKeyOf(replay), session);
    }
  }
}

/** Returns how much of a time limit is left, for several requests that share the limit. */
function createRemainingMs(timeoutMs: number): () => number {
  const endsAt = performance.now() + timeoutMs;
  return () => Math.max(1, endsAt - performance.now());
}
