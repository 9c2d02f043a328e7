import type { JsonValue } from '#contracts/vocabulary';

type JsonObject = { [key: string]: JsonValue };

export interface RpcFailure {
  readonly code: JsonValue;
  readonly message: JsonValue;
  readonly data?: JsonValue;
}

/** A response of JSON-RPC 2.0 §5: one of the two. */
export type RpcResponse = JsonObject &
  (
    | { readonly result: JsonObject; readonly error?: undefined }
    | { readonly error: JsonObject & RpcFailure; readonly result?: undefined }
  );

/** Whether a message is the answer to our request. An error before the id was read has none. */
export function isResponseTo(message: JsonValue | undefined, id: string): message is RpcResponse {
  if (!isObject(message) || message['jsonrpc'] !== '2.0') return false;
  const { id: own = null, result, error } = message;
  if (isObject(error)) return own === id || own === null;
  return own === id && isObject(result);
}

/** The server says that its tools are others than they were. */
export function isListChanged(message: JsonValue | undefined): boolean {
  return isObject(message) && message['method'] === 'notifications/tools/list_changed';
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
