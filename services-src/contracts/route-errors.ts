import { busContracts } from './all.ts';
import type { Contract } from './define.ts';
import { errorCodes } from './errors.ts';
import type { ErrorCode } from './errors.ts';
import type { EndpointReference, RouteSpec } from './http/define.ts';

const { authenticate } = busContracts.auth.endpoints;
const contracts: Readonly<Record<string, Contract>> = busContracts;

const commonErrors: readonly ErrorCode[] = ['invalid_request', 'internal', 'unavailable'];
/** The errors that can occur before the handler of a route that needs a credential. */
const admissionErrors: readonly ErrorCode[] = [
  ...authenticate.errors,
  'insufficient_scope',
  'forbidden',
  'rate_limited',
];
const bodyErrors: readonly ErrorCode[] = ['too_large', 'unsupported_media_type'];

/**
 * The errors that the gateway may answer before a handler runs, and when a component does not
 * answer.
 */
export function edgeErrorsOf({ access, body }: RouteSpec): ErrorCode[] {
  return [
    ...commonErrors,
    ...(access === 'public' ? [] : admissionErrors),
    ...(body === undefined ? [] : bodyErrors),
  ];
}

/** The bus endpoints whose errors the route's handler passes on. */
export function endpointsOf({ serves }: RouteSpec): readonly EndpointReference[] {
  if (serves === 'none') return [];
  return typeof serves === 'string' ? [serves] : serves;
}

/** The errors that the endpoints behind the route report on purpose (their contracts' `errors`). */
export function servedErrorsOf(spec: RouteSpec): ErrorCode[] {
  return endpointsOf(spec).flatMap((reference) => {
    const [component = '', name = ''] = reference.split('.');
    const endpoint = contracts[component]?.endpoints[name];
    if (endpoint === undefined) throw new Error(`No bus contract has the endpoint ${reference}.`);
    return endpoint.errors;
  });
}

/** Every code that the route may answer with, in the order of the closed list (docs/reference/errors.md#of-a-route). */
export function errorsOf(spec: RouteSpec): readonly ErrorCode[] {
  const codes = new Set([...edgeErrorsOf(spec), ...servedErrorsOf(spec), ...(spec.errors ?? [])]);
  return (Object.keys(errorCodes) as ErrorCode[]).filter((code) => codes.has(code));
}
