/** Larger than anything the gateway takes or gives. In bytes, or in characters of a stream. */
export const maxFrame = 16 * 1_048_576;

/** A JSON-RPC message, and what the HTTP transport of MCP needs to know about it. */
export interface Frame {
  /** Exactly as it came. */
  readonly bytes: Buffer;
  readonly kind: 'request' | 'notification' | 'response';
  readonly method: string | undefined;
  /** Of a request: what its answer will carry. */
  readonly id: FrameId | undefined;
  /** Revision 2026-07-28 and later say it in every frame; earlier ones once, in `initialize`. */
  readonly ownVersion: string | undefined;
  /** What the frame is about, for `Mcp-Name`. */
  readonly name: string | undefined;
  /** Of `notifications/cancelled`. */
  readonly cancels: FrameId | undefined;
}
export type FrameId = string | number;

const versionKey = 'io.modelcontextprotocol/protocolVersion';
/** Which parameter `Mcp-Name` repeats (SEP-2243, SEP-2663). */
const nameParameters = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/** Undefined if it is no JSON-RPC message. A batch is not one: MCP has none since 2025-06-18. */
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
    name: stringOf(params[nameParameters.get(method ?? '') ?? '']),
    cancels: method === 'notifications/cancelled' ? idOf(params['requestId']) : undefined,
  };
}

/** A message of the gateway, as it goes to the editor. */
export interface Reply {
  /** In one line, otherwise as it came. */
  readonly line: string;
  /** A message that asks or tells something by itself is not an answer. */
  readonly isAnswer: boolean;
  /** Of an answer: which request it is for; undefined if the gateway could not tell. */
  readonly answers: FrameId | undefined;
  /** What the answer to `initialize` settles on. */
  readonly protocolVersion: string | undefined;
}

/** Undefined if it is no JSON-RPC message: it must not reach an editor. */
export function parseReply(text: string): Reply | undefined {
  const message = parseMessage(text);
  if (!message) return undefined;
  const isAnswer = message['method'] === undefined;
  return {
    // JSON has line ends between its tokens only: strings write them as \n.
    line: text.replaceAll(/[\r\n]+/g, ' ').trim(),
    isAnswer,
    answers: isAnswer ? idOf(message['id']) : undefined,
    protocolVersion: stringOf(objectOf(message['result'])['protocolVersion']),
  };
}

/** The headers that repeat a frame of revision 2026-07-28 or later, and must equal it. */
export function frameHeaders({ ownVersion, method, name }: Frame): Record<string, string> {
  if (ownVersion === undefined || method === undefined) return {};
  return {
    'mcp-protocol-version': encodeHeader(ownVersion),
    'mcp-method': encodeHeader(method),
    ...(name !== undefined && { 'mcp-name': encodeHeader(name) }),
  };
}

/** As it is where HTTP can carry it, else in base64 between the marks of SEP-2243. */
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
