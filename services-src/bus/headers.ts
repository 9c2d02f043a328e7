import type { TextMapGetter, TextMapSetter } from '@opentelemetry/api';
import type { MsgHdrs } from '@nats-io/transport-node';

/** Time left when the request was sent, in milliseconds. Relative, as in gRPC, so that clocks need not agree. */
export const timeoutHeader = 'Timeout-Ms';

/** The two error headers every NATS service sets (NATS ADR-32). */
export const errorHeader = 'Nats-Service-Error';
export const errorCodeHeader = 'Nats-Service-Error-Code';

export const traceSetter: TextMapSetter<MsgHdrs> = {
  set: (headers, key, value) => headers.set(key, value),
};

export const traceGetter: TextMapGetter<MsgHdrs | undefined> = {
  get: (headers, key) => headers?.get(key) || undefined,
  keys: (headers) => [...(headers?.keys() ?? [])],
};
