import type { ActionCall } from '#contracts/call';
import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { givenValue, invalidParam, isAbsent, isRecord, joinedText } from '#templates';
import { composeBody } from '../../mail/domain/compose-mail.ts';
import { actionUrlOf } from './action-url.ts';
import { parseBaseUrl } from './base-url.ts';
import { encodeBody } from './request-body.ts';
import type { EncodedBody, FormEncoding } from './request-body.ts';
import { toRequestHeader } from './request-headers.ts';
import type { BuiltRequest, HeaderPair, Params } from './built-request.ts';
import { toShownHeaders } from './shown-headers.ts';

export interface ActionRequestParts {
  readonly action: CompiledAction;
  readonly params: ActionCall['params'];
  readonly baseUrl: string;
  /** The result of `digestOf(call)`. The boundary of a multipart body is derived from it. */
  readonly callDigest: string;
  /** The setting CAP_SENT_BODY_BYTES; its default if absent. */
  readonly bodyBytesMax?: number | undefined;
}

/**
 * Builds the request of an action. The result depends only on the approved call, so that a replay
 * can build the request again and compare it. Policy has validated the arguments; this function
 * refuses values that would make it a request for another operation.
 */
export function buildActionRequest({
  action,
  params,
  baseUrl,
  callDigest,
  bodyBytesMax,
}: ActionRequestParts): BuiltRequest {
  const paramsWithDefaults = withDefaults(action, params);
  const url = actionUrlOf(action, paramsWithDefaults, parseBaseUrl(baseUrl));
  const bodyValue = bodyValueOf(action, paramsWithDefaults);
  const encoding = { boundary: boundaryOf(callDigest), bytesMax: bodyBytesMax };
  const body = bodyValue === undefined ? null : encodeActionBody(action, bodyValue, encoding);
  // JSON is preferred, but any media type is accepted, because some APIs have only their own media
  // type.
  const accept = action.responseType === 'json' ? 'application/json, */*;q=0.1' : '*/*';
  const ownHeaders = headersOf(action, paramsWithDefaults);
  const headers: HeaderPair[] = [['accept', accept], ...ownHeaders];
  if (body) headers.push(['content-type', body.contentType]);
  return {
    method: action.method,
    url,
    headers,
    body: body?.bytes ?? null,
    projection: {
      method: action.method,
      url,
      params: paramsWithDefaults,
      headers: toShownHeaders(ownHeaders),
      content_type: body?.contentType ?? null,
      body: bodyValue ?? null,
    },
  };
}

/** The params with defaults filled in, in the order of the template. Throws for unknown params. */
export function withDefaults(action: CompiledAction, params: Params): Params {
  const knownNames = new Set(action.params.map((param) => param.name));
  const unknownName = Object.keys(params).find((name) => !knownNames.has(name));
  if (unknownName !== undefined)
    throw invalidParam(unknownName, 'is not a parameter of this action');
  const givenParams: [string, JsonValue][] = [];
  for (const param of action.params) {
    const value = Object.hasOwn(params, param.name) ? params[param.name] : param.schema['default'];
    if (value !== undefined) givenParams.push([param.name, value]);
    else if (param.required) throw invalidParam(param.name, 'is required');
  }
  return Object.fromEntries(givenParams);
}

/** The headers that an action's parameters set. */
export function headersOf(action: CompiledAction, params: Params): HeaderPair[] {
  return action.params.flatMap((param) => {
    const value = givenValue(params, param.name);
    if (param.in !== 'header' || isAbsent(value)) return [];
    return [
      toRequestHeader(
        param.wireName,
        joinedText(value, param, (text) => text),
      ),
    ];
  });
}

function bodyValueOf(action: CompiledAction, params: Params): JsonValue | undefined {
  if (action.body === null) return undefined;
  if (action.body.wholeBody) return params['body'];
  const properties = action.params.flatMap((param): [string, JsonValue][] => {
    const value = param.in === 'body' ? givenValue(params, param.name) : undefined;
    return value === undefined ? [] : [[param.wireName, value]];
  });
  if (properties.length === 0 && !action.body.required) return undefined;
  return Object.fromEntries(properties);
}

function encodeActionBody(
  action: CompiledAction,
  value: JsonValue,
  encoding: { readonly boundary: string; readonly bytesMax: number | undefined },
): EncodedBody {
  const { compose, body } = action;
  const { mediaType = '' } = body ?? {};
  const sentValue =
    compose !== undefined && isRecord(value)
      ? composeBody(value, compose, encoding.boundary)
      : value;
  const schema = bodySchemaOf(action);
  return encodeBody(sentValue, { mediaType, ...formEncodingOf(action), ...encoding, schema });
}

/** The schema of the body. The params of the action are its properties. */
function bodySchemaOf(action: CompiledAction): unknown {
  const bodyParams = action.params.filter((param) => param.in === 'body');
  if (action.body?.wholeBody) return bodyParams[0]?.schema;
  return {
    properties: Object.fromEntries(bodyParams.map((param) => [param.wireName, param.schema])),
  };
}

/** The encoding that the template gives for the properties of a form. */
export function formEncodingOf({ body }: CompiledAction): FormEncoding {
  const { parts = {} } = body ?? {};
  return { partOf: (name) => (Object.hasOwn(parts, name) ? parts[name] : undefined) };
}

export function boundaryOf(callDigest: string): string {
  return `gateway-${callDigest.slice(0, 32)}`;
}
