/**
 * The largest frame, in bytes, or in characters of a stream. No message that the gateway accepts or
 * sends is as large.
 */
export const frameSizeMax = 16 * 1_048_576;

/** A JSON-RPC message, with the parts of it that MCP's HTTP transport needs. */
export interface Frame {
  /** The message exactly as the editor sent it. */
  readonly bytes: Buffer;
  readonly kind: 'request' | 'notification' | 'response';
  readonly method: string | undefined;
  /** The id of a request, which its answer repeats. */
  readonly id: FrameId | undefined;
  /**
   * The protocol version that the frame carries. Since revision 2026-07-28 every frame carries one;
   * in earlier revisions only `initialize` does.
   */
  readonly ownVersion: string | undefined;
  /** The name of the tool, prompt or resource, for the header `Mcp-Name`. */
  readonly targetName: string | undefined;
  /** The id of the request that this `notifications/cancelled` cancels. */
  readonly cancelledId: FrameId | undefined;
}
export type FrameId = string | number;

const versionKey = 'io.modelcontextprotocol/protocolVersion';
/** The parameter that the header `Mcp-Name` repeats, for each method (SEP-2243, SEP-2663). */
const nameParameters = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/**
 * The frame; undefined if the bytes are not a JSON-RPC message. A batch is not one either, because
 * MCP has had no batches since 2025-06-18.
 */
export function parseFrame(bytes: Buffer): Frame | undefined {
  const message = parseMessage(bytes.toString('utf8'));
  if (!message) return undefined;
  const method = stringOf(message['method']);
  const id = idOf(message['id']);
  const params = objectOf(message['params']);
  return {
    bytes,
    kind: method === undefined ? 'response' : id === undefined ? 'notification' : 'request',
    method,
    id,
    ownVersion: stringOf(objectOf(params['_meta'])[versionKey]),
    targetName: stringOf(params[nameParameters.get(method ?? '') ?? '']),
    cancelledId: method === 'notifications/cancelled' ? idOf(params['requestId']) : undefined,
  };
}

/** A message of the gateway for the editor. */
export interface Reply {
  /** The message on one line, otherwise unchanged. */
  readonly line: string;
  /** Whether the message is an answer. Requests and notifications of the gateway are not. */
  readonly isAnswer: boolean;
  /**
   * The id of the request that this message answers; undefined if the gateway could not tell which
   * one it was.
   */
  readonly answeredId: FrameId | undefined;
  /** The protocol version that an answer to `initialize` names. */
  readonly protocolVersion: string | undefined;
}

/**
 * The message; undefined if the text is not a JSON-RPC message, because nothing else may reach an
 * editor.
 */
export function parseReply(text: string): Reply | undefined {
  const message = parseMessage(text);
  if (!message) return undefined;
  const isAnswer = message['method'] === undefined;
  return {
    // Replacing line ends changes no value, because JSON strings write a line end as `\n`.
    line: text.replaceAll(/[\r\n]+/g, ' ').trim(),
    isAnswer,
    answeredId: isAnswer ? idOf(message['id']) : undefined,
    protocolVersion: stringOf(objectOf(message['result'])['protocolVersion']),
  };
}

/**
 * The headers that repeat parts of a frame. Since revision 2026-07-28 they are required and must
 * equal those parts.
 */
export function headersOfFrame({
  ownVersion,
  method,
  targetName: name,
}: Frame): Record<string, string> {
  if (ownVersion === undefined || method === undefined) return {};
  return {
    'mcp-protocol-version': encodeHeader(ownVersion),
    'mcp-method': encodeHeader(method),
    ...(name !== undefined && { 'mcp-name': encodeHeader(name) }),
  };
}

/**
 * The header's value: unchanged if HTTP allows it, otherwise in base64 between the markers of
 * SEP-2243.
 */
function encodeHeader(value: string): string {
  const isPlain = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(value);
  const isMarked = value.startsWith('=?base64?') && value.endsWith('?=');
  return isPlain && !isMarked ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}

function parseMessage(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const message = objectOf(JSON.parse(text));
    return message['jsonrpc'] === '2.0' ? message : undefined;
  } catch {
    return undefined;
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : {};
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function idOf(value: unknown): FrameId | undefined {
  return typeof value === 'string' || typeof value === 'number' ? value : undefined;
}
