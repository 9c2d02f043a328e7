import type { Egress } from '#egress';
import { AppError } from '#errors';
import { inject } from '../domain/inject.ts';
import type { Credential } from '../domain/inject.ts';
import type { HeaderPair } from '../domain/request.ts';
import { parseBoundedJson } from '../domain/shape-body.ts';
import type { Received } from '../domain/shape-body.ts';
import { AnswerFinder } from './event-stream.ts';
import { isResponseTo } from './message.ts';
import type { RpcResponse } from './message.ts';

/** Where an MCP server is, and what opens it. */
export interface McpServer {
  readonly url: string;
  readonly credentials: readonly Credential[];
  /** It said, in whatever exchange, that its tools are others than they were. */
  readonly onListChanged?: () => void;
}

export interface RpcRequest {
  /** Unique within its session. Null: a notification, which has no answer. */
  readonly id: string | null;
  /** The message as a JSON object without its id, from the `{` on. */
  readonly body: Uint8Array;
  readonly headers: readonly HeaderPair[];
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** The last moment to refuse, by throwing. */
  readonly beforeSend?: () => void;
}

export interface RpcAnswer extends Omit<Received, 'stream'> {
  /** Undefined when what came back is no answer of JSON-RPC to this request. */
  readonly message: RpcResponse | undefined;
  readonly isEventStream: boolean;
}

/**
 * Sends one message of JSON-RPC, once, and waits for its answer (MCP, Streamable HTTP): a JSON
 * body, or the event that holds it, after which the stream is given up. Bounded by bytes and by
 * one deadline for everything. Throws what egress throws, so that `mayHaveLeft` can be asked.
 */
export async function exchangeRpc(
  egress: Egress,
  { url, credentials, onListChanged = () => {} }: McpServer,
  { id, body, headers, timeoutMs, maxBytes, beforeSend }: RpcRequest,
): Promise<RpcAnswer> {
  const finder = id === null ? undefined : new AnswerFinder(id, onListChanged);
  const addressed = inject({ url, headers: [...headers, ...transportHeaders] }, credentials);
  const response = await egress.request({
    method: 'POST',
    ...addressed,
    body: id === null ? body : withId(body, id),
    connectTimeoutMs: Math.min(5_000, timeoutMs),
    firstByteTimeoutMs: timeoutMs,
    totalTimeoutMs: timeoutMs,
    maxBytes,
    overflow: 'truncate',
    isWhole: finder && ((piece) => finder.feed(piece)),
    beforeSend,
  });
  const isEventStream = /^text\/event-stream\s*(;|$)/i.test(
    headerOf(response.headers, 'content-type') ?? '',
  );
  const whole = response.truncated ? null : response.body;
  return {
    status: response.status,
    headers: response.headers,
    body: whole,
    lost: response.truncated ? 'too_large' : null,
    isEventStream,
    message: isEventStream ? finder?.found : wholeMessage(whole, id),
  };
}

/** The id belongs to the sending: what a person approved is the message without it. */
function withId(body: Uint8Array, id: string): Uint8Array {
  return Buffer.concat([Buffer.from(`{"id":${JSON.stringify(id)},`), body.subarray(1)]);
}

function wholeMessage(body: Uint8Array | null, id: string | null): RpcResponse | undefined {
  if (id === null || body === null) return undefined;
  const message = parseBoundedJson(new TextDecoder().decode(body));
  return isResponseTo(message, id) ? message : undefined;
}

export function headerOf(headers: Received['headers'], name: string): string | undefined {
  return headers.find(([known]) => known.toLowerCase() === name)?.[1];
}

const transportHeaders: readonly HeaderPair[] = [
  ['accept-encoding', 'gzip, deflate'],
  ['user-agent', 'agent-action-gateway'],
];

/** A server that does not do what the protocol says. */
export function notMcp(what: string, status?: number): AppError {
  return new AppError('upstream_incomplete', what, {
    details: status === undefined ? {} : { status_code: status },
  });
}
