import type { Attributes } from '@opentelemetry/api';

/**
 * The attributes of both spans of a bus request, by OpenTelemetry's conventions for RPC. `method`
 * is the component and the name of the endpoint.
 */
export function rpcAttributesOf(method: string): Attributes {
  return { 'rpc.system.name': 'nats', 'rpc.method': method };
}
