import type { ActionCall } from '#contracts/call';
import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { givenValue, invalidParam, isAbsent, joinedText } from '#templates';
import { actionUrl } from './action-url.ts';
import { parseBaseUrl } from './base-url.ts';
import { encodeBody } from './request-body.ts';
import type { EncodedBody, Writing } from './request-body.ts';
import { requestHeader } from './request-headers.ts';
import type { BuiltRequest, HeaderPair, Params } from './request.ts';
import { shownHeaders } from './shown-headers.ts';

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
  const body = bodyValue === undefined ? null : encode(action, bodyValue, callDigest);
  // Some APIs answer in nothing but a media type of their own.
  const accept = action.responseType === 'json' ? 'application/json, */*;q=0.1' : '*/*';
  const own = headersOf(action, given);
  const headers: HeaderPair[] = [['accept', accept], ...own];
  if (body) headers.push(['content-type', body.contentType]);
  return {
    method: action.method,
    url,
    headers,
    body: body?.bytes ?? null,
    projection: {
      method: action.method,
      url,
      params: given,
      headers: shownHeaders(own),
      content_type: body?.contentType ?? null,
      body: bodyValue ?? null,
    },
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

/** The headers that parameters of the action are sent as. */
export function headersOf(action: CompiledAction, params: Params): HeaderPair[] {
  return action.params.flatMap((param) => {
    const value = givenValue(params, param.name);
    if (param.in !== 'header' || isAbsent(value)) return [];
    return [
      requestHeader(
        param.wireName,
        joinedText(value, param, (text) => text),
      ),
    ];
  });
}

function bodyOf(action: CompiledAction, params: Params): JsonValue | undefined {
  if (action.body === null) return undefined;
  if (action.body.wholeBody) return params['body'];
  const properties = action.params.flatMap((param): [string, JsonValue][] => {
    const value = param.in === 'body' ? givenValue(params, param.name) : undefined;
    return value === undefined ? [] : [[param.wireName, value]];
  });
  if (properties.length === 0 && !action.body.required) return undefined;
  return Object.fromEntries(properties);
}

function encode(action: CompiledAction, value: JsonValue, callDigest: string): EncodedBody {
  const { mediaType = '' } = action.body ?? {};
  return encodeBody(value, {
    mediaType,
    ...writingOf(action),
    boundary: boundaryOf(callDigest),
  });
}

/** How the template writes the properties of a form. */
export function writingOf({ body }: CompiledAction): Writing {
  const { parts = {} } = body ?? {};
  return { partOf: (name) => (Object.hasOwn(parts, name) ? parts[name] : undefined) };
}

export function boundaryOf(callDigest: string): string {
  return `gateway-${callDigest.slice(0, 32)}`;
}
