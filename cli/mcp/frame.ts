/**
 * The largest frame, in bytes; for an event stream, in characters. The gateway neither accepts nor
 * sends a message of this size.
 */
export const frameSizeMax = 16 * 1_048_576;

/** A JSON-RPC message, with those of its parts that MCP's HTTP transport needs. */
export interface Frame {
  /** The message exactly as the editor sent it. */
  readonly bytes: Buffer;
  readonly kind: 'request' | 'notification' | 'response';
  readonly method: string | undefined;
  /** The id of a request. The answer repeats it. */
  readonly id: FrameId | undefined;
  /**
   * The protocol version that the frame contains. Since revision 2026-07-28 every frame contains
   * one; in earlier revisions only `initialize` does.
   */
  readonly ownVersion: string | undefined;
  /** The name of the tool, prompt or resource, for the header `Mcp-Name`. */
  readonly targetName: string | undefined;
  /** The id of the request to cancel, if this frame is `notifications/cancelled`. */
  readonly cancelledId: FrameId | undefined;
}
export type FrameId = string | number;

const versionKey = 'io.modelcontextprotocol/protocolVersion';
/**
 * For each method, the name of the parameter that the header `Mcp-Name` repeats (SEP-2243,
 * SEP-2663).
 */
const nameParameters = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/**
 * Returns the frame; undefined if the bytes are not a JSON-RPC message. A batch counts as no
 * message, because MCP has had no batches since 2025-06-18.
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
  /** Whether the message is an answer, and not a request or notification of the gateway. */
  readonly isAnswer: boolean;
  /**
   * The id of the request that this message answers; undefined if the gateway could not read that
   * id.
   */
  readonly answeredId: FrameId | undefined;
  /** The protocol version in an answer to `initialize`. */
  readonly protocolVersion: string | undefined;
}

/**
 * Returns the message; undefined if the text is not a JSON-RPC message. Nothing else may be sent to
 * an editor.
 */
export function parseReply(text: string): Reply | undefined {
  const message = parseMessage(text);
  if (!message) return undefined;
  const isAnswer = message['method'] === undefined;
  return {
    // Replacing the line ends changes no value: inside JSON strings a line end is written as `\n`.
    line: text.replaceAll(/[\r\n]+/g, ' ').trim(),
    isAnswer,
    answeredId: isAnswer ? idOf(message['id']) : undefined,
    protocolVersion: stringOf(objectOf(message['result'])['protocolVersion']),
  };
}

/**
 * The headers that repeat parts of a frame. Since revision 2026-07-28 they are required, and must
 * equal the parts that they repeat.
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
 * The value of a header: unchanged if HTTP allows it, otherwise as base64 between the markers that
 * SEP-2243 defines.
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
