import type { ActionCall } from '#contracts/call';
import { statelessVersion } from '#contracts/mcp';
import type { ToolPin } from '#contracts/mcp';
import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { toRawNumbers } from '#exact-json';
import { createSessionMessage, createStatelessMessage } from './mcp-message.ts';
import { actionUrlOf } from './action-url.ts';
import { parseBaseUrl } from './base-url.ts';
import { withDefaults } from './build-action-request.ts';
import type { BuiltRequest, HeaderPair } from './built-request.ts';
import { toShownHeaders } from './shown-headers.ts';

export interface ToolRequestParts {
  readonly action: CompiledAction;
  readonly params: ActionCall['params'];
  readonly baseUrl: string;
  readonly pin: ToolPin;
  /** The protocol revision that was found when the tools were discovered. */
  readonly version: string;
}

/**
 * Builds the `tools/call` request to an MCP server, without the id and the session: these are
 * different each time the request is sent. Like an action's request, it depends only on the
 * approved call.
 */
export function buildToolRequest(parts: ToolRequestParts): BuiltRequest {
  const { action, params, baseUrl, pin, version } = parts;
  const paramsWithDefaults = withDefaults(action, params);
  const url = actionUrlOf({ ...action, params: [] }, {}, parseBaseUrl(baseUrl));
  const sentArguments = toRawNumbers(paramsWithDefaults, action.paramsSchema) as JsonValue;
  const rpcParams = { name: action.key, arguments: sentArguments };
  const ownHeaders = version === statelessVersion ? toolHeadersOf(pin, paramsWithDefaults) : [];
  const headers: HeaderPair[] = [['mcp-name', encodeHeaderValue(action.key)], ...ownHeaders];
  const message =
    version === statelessVersion
      ? createStatelessMessage('tools/call', rpcParams, headers)
      : createSessionMessage('tools/call', rpcParams);
  return {
    method: action.method,
    url,
    ...message,
    projection: {
      method: 'tools/call',
      url,
      params: paramsWithDefaults,
      headers: toShownHeaders(ownHeaders),
      content_type: 'application/json',
      body: paramsWithDefaults,
    },
  };
}

/** The headers that repeat arguments of the call, for tools whose definition asks for them. */
export function toolHeadersOf(pin: ToolPin, params: JsonValue): HeaderPair[] {
  return pin.headers.flatMap(({ name, path }): HeaderPair[] => {
    const text = toHeaderText(valueAt(params, path));
    return text === undefined ? [] : [[`mcp-param-${name}`.toLowerCase(), text]];
  });
}

function valueAt(params: JsonValue, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = params;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    value = Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return value;
}

function toHeaderText(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined;
  return typeof value === 'string' ? encodeHeaderValue(value) : undefined;
}

/**
 * Encodes an argument for a header. A text that a header cannot contain unchanged is sent as base64
 * between markers (MCP 2026-07-28, value encoding).
 */
function encodeHeaderValue(text: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text);
  if (isPlain && !/^=\?base64\?.*\?=$/.test(text)) return text;
  return `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`;
}
