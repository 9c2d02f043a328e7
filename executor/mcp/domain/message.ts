import type { JsonValue } from '#contracts/vocabulary';

type JsonObject = { [key: string]: JsonValue };

export interface RpcFailure {
  readonly code: JsonValue;
  readonly message: JsonValue;
  readonly data?: JsonValue;
}

/** A response of JSON-RPC 2.0 §5: either a result or an error. */
export type RpcResponse = JsonObject &
  (
    | { readonly result: JsonObject; readonly error?: undefined }
    | { readonly error: JsonObject & RpcFailure; readonly result?: undefined }
  );

/**
 * Whether a message is the response to the request with this id. An error response has no id when
 * the server failed before it could read the id.
 */
export function isResponseTo(message: JsonValue | undefined, id: string): message is RpcResponse {
  if (!isObject(message) || message['jsonrpc'] !== '2.0') return false;
  const { id: answerId = null, result, error } = message;
  if (isObject(error)) return answerId === id || answerId === null;
  return answerId === id && isObject(result);
}

/** Whether the message announces that the server's tools have changed. */
export function isListChanged(message: JsonValue | undefined): boolean {
  return isObject(message) && message['method'] === 'notifications/tools/list_changed';
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
