import { statelessVersion } from '#contracts/mcp';
import type { JsonValue } from '#contracts/vocabulary';
import type { HeaderPair } from './built-request.ts';

const clientInfo = { name: 'agent-action-gateway', version: '1.0.0' };

/** The client declares no capabilities, so the server gets nothing but the arguments. */
const capabilities = {};

/**
 * Body and headers of a message, for protocol revisions with or without sessions. The id and the
 * session are added when the message is sent.
 */
export interface BuiltMessage {
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array;
}

const baseHeaders: readonly HeaderPair[] = [
  ['accept', 'application/json, text/event-stream'],
  ['content-type', 'application/json'],
];

/**
 * A message for the protocol revisions with sessions. The session and the exact revision are added
 * when the message is sent.
 */
export function createSessionMessage(
  method: string,
  params?: Record<string, JsonValue>,
): BuiltMessage {
  return { headers: baseHeaders, body: messageBytesOf(method, params) };
}

/**
 * A request for the protocol revision without sessions. Each message describes the client, and its
 * headers repeat the method.
 */
export function createStatelessMessage(
  method: string,
  params: Record<string, JsonValue> = {},
  headers: readonly HeaderPair[] = [],
): BuiltMessage {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': statelessVersion,
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const ownHeaders: HeaderPair[] = [
    ['mcp-protocol-version', statelessVersion],
    ['mcp-method', method],
  ];
  return {
    headers: [...baseHeaders, ...ownHeaders, ...headers],
    body: messageBytesOf(method, { ...params, _meta: meta }),
  };
}

export const initializeParamsOf = (protocolVersion: string): Record<string, JsonValue> => ({
  protocolVersion,
  capabilities,
  clientInfo,
});

function messageBytesOf(method: string, params: Record<string, JsonValue> | undefined): Uint8Array {
  const rpcRequest = { jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) };
  return Buffer.from(JSON.stringify(rpcRequest));
}
