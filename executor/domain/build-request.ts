import type { ActionCall } from '#contracts/call';
import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { actionUrl } from './action-url.ts';
import { parseBaseUrl } from './base-url.ts';
import { invalidParam, textOf } from './encode.ts';
import { encodeBody } from './request-body.ts';
import { requestHeader } from './request-headers.ts';
import type { BuiltRequest, HeaderPair, Params } from './request.ts';

export interface ActionRequestParts {
  readonly action: CompiledAction;
  readonly params: ActionCall['params'];
  readonly baseUrl: string;
  /** `digestOf(call)`; a multipart boundary is made of it. */
  readonly callDigest: string;
}

/**
 * Builds the request of an action. A pure function of what a person approved, so that the replay
 * can build it again and compare. Arguments were validated by policy; what would still bend the
 * request into another one is refused here.
 */
export function buildActionRequest({
  action,
  params,
  baseUrl,
  callDigest,
}: ActionRequestParts): BuiltRequest {
  const given = withDefaults(action, params);
  const url = actionUrl(action, given, parseBaseUrl(baseUrl));
  const bodyValue = bodyOf(action, given);
  const headers: HeaderPair[] = [
    ['accept', action.responseType === 'json' ? 'application/json' : '*/*'],
  ];
  for (const param of action.params) {
    const value = given[param.name];
    if (param.in !== 'header' || value === undefined || value === null) continue;
    const texts = (Array.isArray(value) ? value : [value]).map((each) => textOf(each, param.name));
    headers.push(requestHeader(param.name, texts.join(',')));
  }
  const body =
    bodyValue === undefined || action.body === null
      ? null
      : encodeBody(bodyValue, action.body.mediaType, `gateway-${callDigest.slice(0, 32)}`);
  if (body) headers.push(['content-type', body.contentType]);
  return {
    method: action.method,
    url,
    headers,
    body: body?.bytes ?? null,
    projection: { method: action.method, url, params: given, body: bodyValue ?? null },
  };
}

/** The params as they are sent: unknown ones refused, defaults filled in, in the template's order. */
export function withDefaults(action: CompiledAction, params: Params): Params {
  const known = new Set(action.params.map((param) => param.name));
  const unknown = Object.keys(params).find((name) => !known.has(name));
  if (unknown !== undefined) throw invalidParam(unknown, 'is not a parameter of this action');
  const given: [string, JsonValue][] = [];
  for (const param of action.params) {
    const value = Object.hasOwn(params, param.name) ? params[param.name] : param.schema['default'];
    if (value !== undefined) given.push([param.name, value]);
    else if (param.required) throw invalidParam(param.name, 'is required');
  }
  return Object.fromEntries(given);
}

function bodyOf(action: CompiledAction, params: Params): JsonValue | undefined {
  if (action.body === null) return undefined;
  if (action.body.wholeBody) return params['body'];
  const properties = action.params
    .filter((param) => param.in === 'body' && params[param.name] !== undefined)
    .map((param) => [param.name, params[param.name] as JsonValue] as const);
  if (properties.length === 0 && !action.body.required) return undefined;
  return Object.fromEntries(properties);
}
