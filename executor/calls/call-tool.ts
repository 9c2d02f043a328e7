import { LRUCache } from 'lru-cache';
import { v7 as uuidv7 } from 'uuid';

import { statelessVersion } from '#contracts/mcp';
import type { ToolDefinition } from '#contracts/mcp';
import type { Permit } from '#contracts/permit';
import { mayHaveLeft, receivedHead } from '#egress';
import { AppError } from '#errors';
import { digestOf } from '#signing';
import type { Deps } from '../deps.ts';
import { withoutCredentials } from '../domain/without-credentials.ts';
import { exchangeRpc } from '../mcp/exchange.ts';
import type { RpcAnswer } from '../mcp/exchange.ts';
import { cancelRequest, sessionHeaders } from '../mcp/session.ts';
import type { McpSession } from '../mcp/session.ts';
import { findTool } from '../mcp/tools.ts';
import { stale } from './frozen-call.ts';
import { toolsMayHaveChanged } from './tools-may-have-changed.ts';
import type { Sending, SentOnce } from './send.ts';

type ToolDeps = Pick<Deps, 'egress' | 'mcpSessions' | 'toolChanges'>;

/** Of one answer, whose bytes are base64 in one piece of JSON: it is in memory several times while it is read. */
const answerBytesMax = 8 * 1024 * 1024;

/**
 * Sends one `tools/call` at most once. A session is opened before, if the server wants one; one
 * that is found lost by the call itself is opened again for the next call, never for this one.
 * What the exchange tells of the server's tools goes to the registry.
 */
export async function callToolOnce(
  deps: ToolDeps,
  sending: Sending,
  beforeSend: () => void,
): Promise<SentOnce> {
  const heard = { isListChanged: false };
  const onListChanged = () => void (heard.isListChanged = true);
  const sent = await sendCall(deps, { ...sending, onListChanged, beforeSend });
  const isChanged = heard.isListChanged || toolsMayHaveChanged(sent);
  deps.toolChanges[isChanged ? 'changed' : 'used'](serviceOf(sending));
  return sent;
}

interface CallSending extends Sending {
  readonly onListChanged: () => void;
  readonly beforeSend: () => void;
}

async function sendCall(deps: ToolDeps, sending: CallSending): Promise<SentOnce> {
  const { request } = sending.prepared;
  const { url } = request;
  const timeoutMs = remaining(sending.timeoutMs);
  const server = serverOf(sending);
  const id = uuidv7();
  let refusal: unknown;
  let session: McpSession | null;
  try {
    session = await takeSession(deps, sending, timeoutMs);
  } catch (thrown) {
    return { kind: 'unsent', error: AppError.from(thrown) };
  }
  try {
    const answer = await exchangeRpc(deps.egress, server, {
      body: request.body ?? new Uint8Array(),
      headers: [...request.headers, ...(session === null ? [] : sessionHeaders(session))],
      id,
      timeoutMs: timeoutMs(),
      maxBytes: answerBytesMax,
      beforeSend: () => {
        try {
          sending.beforeSend();
        } catch (thrown) {
          refusal = thrown;
          throw thrown;
        }
      },
    });
    if (answer.status === 404 && session !== null) {
      deps.mcpSessions.drop(sessionKey(sending), session);
    }
    return settle(answer, url);
  } catch (thrown) {
    const error = AppError.from(thrown);
    if (refusal !== undefined || !mayHaveLeft(thrown)) return { kind: 'unsent', error };
    const head = receivedHead(thrown);
    // A tool may still be at work after "200": only a refusal is known by its status alone.
    if (head === undefined || head.status < 300 || head.status > 599) {
      if (session !== null && error.code === 'upstream_timeout') {
        void cancelRequest(deps.egress, { server, session, id });
      }
      return { kind: 'unknown', error };
    }
    const lost = error.code === 'response_too_large' ? 'too_large' : 'incomplete';
    return { kind: 'answered', answer: { ...head, body: null, lost, url } };
  }
}

/** A stream that ends without the answer says nothing of how the call ended. */
function settle(answer: RpcAnswer, url: string): SentOnce {
  const { status, message, isEventStream, lost } = answer;
  const isKnown = message !== undefined || status >= 300 || !isEventStream;
  if (isKnown && status <= 599) return { kind: 'answered', answer: { ...answer, url } };
  const code = lost === null ? 'upstream_incomplete' : 'response_too_large';
  const error = new AppError(code, 'The MCP server ended its answer without the result.');
  return { kind: 'unknown', error };
}

function serverOf({ prepared, credentials, onListChanged }: Sending & Partial<CallSending>) {
  const { url } = prepared.request;
  return { url, credentials, ...(onListChanged === undefined ? {} : { onListChanged }) };
}

async function takeSession(
  { mcpSessions }: ToolDeps,
  sending: Sending & Partial<CallSending>,
  timeoutMs: () => number,
): Promise<McpSession | null> {
  const { tool } = sending.prepared;
  if (tool === undefined || tool.version === statelessVersion) return null;
  const opening = { server: serverOf(sending), version: tool.version, timeoutMs };
  return mcpSessions.take(sessionKey(sending), opening);
}

/** A session belongs to one identity with one service and credential: servers remember things in it. */
function sessionKey({ facts, credentials, prepared }: Sending): string {
  const { orgId, serviceId } = serviceOf({ facts });
  const ids = credentials.map(({ injection }) => injection.credentialId);
  return [orgId, facts.identityId, serviceId, prepared.request.url, ...ids].join(' ');
}

function serviceOf({ facts: { orgId, target } }: Pick<Sending, 'facts'>) {
  return { orgId, serviceId: target.kind === 'raw' ? '' : target.serviceId };
}

type Replay = Sending & { readonly permit: Pick<Permit, 'dispatchId'> };

/** Replays whose tool was found unchanged, for the case that they are asked for again. */
const verified = new LRUCache<string, true>({ max: 1_000, ttl: 30_000 });

/**
 * Before a person's word is acted on, the tool must still be what that person read: a server may
 * have changed it since its tools were discovered. Reads only; nothing of the call leaves.
 */
export async function requireSameTool(deps: ToolDeps, replay: Replay): Promise<void> {
  const { tool } = replay.prepared;
  const { dispatchId } = replay.permit;
  if (tool === undefined || verified.has(dispatchId)) return;
  const offered = await findOffered(deps, replay, tool.name);
  if (offered !== undefined && digestOf(offered) === tool.pin.hash) {
    verified.set(dispatchId, true);
    return;
  }
  deps.toolChanges.changed(serviceOf(replay));
  throw stale(
    `The MCP server ${offered === undefined ? 'has no tool' : 'changed its tool'} ${tool.name} since it was accepted`,
  );
}

/** Asks in the session that the call will use; a lost one is opened again, since this only reads. */
async function findOffered(
  deps: ToolDeps,
  replay: Replay,
  name: string,
): Promise<ToolDefinition | undefined> {
  const { credentials } = replay;
  const server = serverOf(replay);
  const timeoutMs = remaining(replay.timeoutMs);
  for (let attempt = 1; ; attempt += 1) {
    const session = await takeSession(deps, replay, timeoutMs);
    try {
      const found = await findTool(deps.egress, { server, timeoutMs, session }, name);
      return found && withoutCredentials(found, credentials);
    } catch (thrown) {
      const isLost = AppError.from(thrown).details['status_code'] === 404;
      if (session === null || !isLost || attempt === 2) throw thrown;
      deps.mcpSessions.drop(sessionKey(replay), session);
    }
  }
}

/** One deadline over several exchanges. */
function remaining(timeoutMs: number): () => number {
  const endsAt = performance.now() + timeoutMs;
  return () => Math.max(1, endsAt - performance.now());
}
