import type { TextMapGetter, TextMapSetter } from '@opentelemetry/api';
import type { MsgHdrs } from '@nats-io/transport-node';

/**
 * The milliseconds that were left when the request was sent. It is a duration and not a time, as in
 * gRPC, so that clocks need not agree.
 */
export const timeoutHeader = 'Timeout-Ms';

/** The id of the client's request that the message serves; it is only used in logs. */
export const requestIdHeader = 'Request-Id';

/** The two error headers that every NATS service sets (NATS ADR-32). */
export const errorHeader = 'Nats-Service-Error';
export const errorCodeHeader = 'Nats-Service-Error-Code';

/**
 * Marks the refusal of a replica that could not reach its database; another replica may reach it.
 */
export const withoutDatabaseHeader = 'Without-Database';

export const traceSetter: TextMapSetter<MsgHdrs> = {
  set: (headers, key, value) => headers.set(key, value),
};

export const traceGetter: TextMapGetter<MsgHdrs | undefined> = {
  get: (headers, key) => headers?.get(key) || undefined,
  keys: (headers) => [...(headers?.keys() ?? [])],
};
