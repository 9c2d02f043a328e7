import type { Egress } from '#egress';
import { AppError } from '#errors';
import { injectCredential } from '../request/domain/inject.ts';
import type { Credential } from '../request/domain/inject.ts';
import type { HeaderPair } from '../request/domain/built-request.ts';
import { parseBoundedJson } from '../answers/domain/shape-body.ts';
import type { ReceivedAnswer } from '../answers/domain/shape-body.ts';
import { AnswerFinder } from './event-stream.ts';
import { isResponseTo } from './domain/message.ts';
import type { RpcResponse } from './domain/message.ts';

/** The address of an MCP server, and the credentials for it. */
export interface McpServer {
  readonly url: string;
  readonly credentials: readonly Credential[];
  /** Called when the server announces, in any exchange, that its tools have changed. */
  readonly onListChanged?: () => void;
}

export interface RpcRequest {
  /**
   * The id of the request, unique within the session. Null for a notification, which gets no
   * answer.
   */
  readonly id: string | null;
  /** The message as a JSON object without its id, beginning with `{`. */
  readonly body: Uint8Array;
  readonly headers: readonly HeaderPair[];
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Called immediately before the message is sent. It may throw to prevent that. */
  readonly beforeSend?: () => void;
}

export interface RpcAnswer extends Omit<ReceivedAnswer, 'stream'> {
  /** Undefined when the body is not a JSON-RPC answer to this request. */
  readonly message: RpcResponse | undefined;
  readonly isEventStream: boolean;
}

/**
 * Sends one JSON-RPC message, once, and waits for its answer (MCP, Streamable HTTP). The answer is
 * a JSON body, or an event in a stream, which is closed after that event. Size and time are
 * limited. Throws the errors of `#egress`, so that the caller can ask `mayHaveLeft` whether the
 * message may have been sent.
 */
export async function exchangeRpc(
  egress: Egress,
  { url, credentials, onListChanged = () => {} }: McpServer,
  { id, body, headers, timeoutMs, maxBytes, beforeSend }: RpcRequest,
): Promise<RpcAnswer> {
  const finder = id === null ? undefined : new AnswerFinder(id, onListChanged);
  const sentBody = id === null ? body : addId(body, id);
  const requestWithCredentials = injectCredential(
    { method: 'POST', url, headers: [...headers, ...transportHeaders], body: sentBody },
    credentials,
  );
  const response = await egress.request({
    method: 'POST',
    ...requestWithCredentials,
    body: sentBody,
    connectTimeoutMs: Math.min(5_000, timeoutMs),
    firstByteTimeoutMs: timeoutMs,
    totalTimeoutMs: timeoutMs,
    maxBytes,
    overflow: 'truncate',
    isWhole: finder && ((piece) => finder.feed(piece)),
    beforeSend,
  });
  const isEventStream = /^text\/event-stream\s*(;|$)/i.test(
    headerValueOf(response.headers, 'content-type') ?? '',
  );
  const wholeBody = response.truncated ? null : response.body;
  return {
    status: response.status,
    headers: response.headers,
    body: wholeBody,
    lost: response.truncated ? 'too_large' : null,
    isEventStream,
    message: isEventStream ? finder?.found : parseWholeMessage(wholeBody, id),
  };
}

/**
 * Adds the id when the message is sent. The approved message has no id, because each attempt to
 * send it has another id.
 */
function addId(body: Uint8Array, id: string): Uint8Array {
  return Buffer.concat([Buffer.from(`{"id":${JSON.stringify(id)},`), body.subarray(1)]);
}

function parseWholeMessage(body: Uint8Array | null, id: string | null): RpcResponse | undefined {
  if (id === null || body === null) return undefined;
  const message = parseBoundedJson(new TextDecoder().decode(body));
  return isResponseTo(message, id) ? message : undefined;
}

export function headerValueOf(
  headers: ReceivedAnswer['headers'],
  name: string,
): string | undefined {
  return headers.find(([known]) => known.toLowerCase() === name)?.[1];
}

const transportHeaders: readonly HeaderPair[] = [
  ['accept-encoding', 'gzip, deflate'],
  ['user-agent', 'agent-action-gateway'],
];

/** The error for a server that violates the protocol. */
export function mcpViolationError(problem: string, status?: number): AppError {
  return new AppError('upstream_incomplete', problem, {
    details: status === undefined ? {} : { status_code: status },
  });
}
