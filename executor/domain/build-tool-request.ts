import type { ActionCall } from '#contracts/call';
import { statelessVersion } from '#contracts/mcp';
import type { ToolPin } from '#contracts/mcp';
import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { sessionMessage, statelessMessage } from '../mcp/protocol.ts';
import { actionUrl } from './action-url.ts';
import { parseBaseUrl } from './base-url.ts';
import { withDefaults } from './build-request.ts';
import type { BuiltRequest, HeaderPair } from './request.ts';
import { shownHeaders } from './shown-headers.ts';

export interface ToolRequestParts {
  readonly action: CompiledAction;
  readonly params: ActionCall['params'];
  readonly baseUrl: string;
  readonly pin: ToolPin;
  /** The revision of the protocol that was found when the tools were discovered. */
  readonly version: string;
}

/**
 * Builds the `tools/call` of an MCP server: the message without what belongs to its sending (id,
 * session). A pure function of what a person approved, like the request of an action.
 */
export function buildToolRequest(parts: ToolRequestParts): BuiltRequest {
  const { action, params, baseUrl, pin, version } = parts;
  const given = withDefaults(action, params);
  const url = actionUrl({ ...action, params: [] }, {}, parseBaseUrl(baseUrl));
  const rpc = { name: action.key, arguments: given };
  const own = version === statelessVersion ? toolHeaders(pin, given) : [];
  const headers: HeaderPair[] = [['mcp-name', headerValue(action.key)], ...own];
  const message =
    version === statelessVersion
      ? statelessMessage('tools/call', rpc, headers)
      : sessionMessage('tools/call', rpc);
  return {
    method: action.method,
    url,
    ...message,
    projection: {
      method: 'tools/call',
      url,
      params: given,
      headers: shownHeaders(own),
      content_type: 'application/json',
      body: given,
    },
  };
}

/** The headers that repeat arguments, where the accepted tool asks for them. */
export function toolHeaders(pin: ToolPin, params: JsonValue): HeaderPair[] {
  return pin.headers.flatMap(({ name, path }): HeaderPair[] => {
    const text = headerText(valueAt(params, path));
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

function headerText(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined;
  return typeof value === 'string' ? headerValue(value) : undefined;
}

/** What is no plain field value travels in base64, between marks (MCP 2026-07-28, value encoding). */
function headerValue(text: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text);
  if (isPlain && !/^=\?base64\?.*\?=$/.test(text)) return text;
  return `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`;
}
