import { statelessVersion } from '#contracts/mcp';
import type { JsonValue } from '#contracts/vocabulary';
import type { HeaderPair } from '../domain/request.ts';

const clientInfo = { name: 'agent-action-gateway', version: '1.0.0' };

/** What we can do for a server while it works: nothing. It gets its arguments, and answers. */
const capabilities = {};

/** Bodies and headers of both eras of the protocol, without ids and sessions. */
export interface BuiltMessage {
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array;
}

const base: readonly HeaderPair[] = [
  ['accept', 'application/json, text/event-stream'],
  ['content-type', 'application/json'],
];

/** A message of the revisions with `initialize`; which of them, and the session, is said at the sending. */
export function sessionMessage(method: string, params?: Record<string, JsonValue>): BuiltMessage {
  return { headers: base, body: bytesOf(method, params) };
}

/** A request of the revision without sessions: it says itself who asks, and the headers repeat what it is. */
export function statelessMessage(
  method: string,
  params: Record<string, JsonValue> = {},
  headers: readonly HeaderPair[] = [],
): BuiltMessage {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': statelessVersion,
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const own: HeaderPair[] = [
    ['mcp-protocol-version', statelessVersion],
    ['mcp-method', method],
  ];
  return {
    headers: [...base, ...own, ...headers],
    body: bytesOf(method, { ...params, _meta: meta }),
  };
}

export const initializeParams = (protocolVersion: string): Record<string, JsonValue> => ({
  protocolVersion,
  capabilities,
  clientInfo,
});

function bytesOf(method: string, params: Record<string, JsonValue> | undefined): Uint8Array {
  const message = { jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) };
  return Buffer.from(JSON.stringify(message));
}
