import type { AppError, ErrorCode } from '#errors';
import { toEnvelope } from '../http/error-handler.ts';

/** The codes of JSON-RPC 2.0 §5.1, and those that MCP SDKs use for HTTP errors. */
export const rpcCodes = {
  parseError: -32_700,
  invalidRequest: -32_600,
  invalidParams: -32_602,
  internal: -32_603,
  refused: -32_000,
  sessionNotFound: -32_001,
} as const;

export interface RpcError {
  readonly jsonrpc: '2.0';
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string; readonly data: object };
}

/** Builds a JSON-RPC error whose `data` is the body of the REST error. */
export function toRpcError(error: AppError, requestId: string, body?: unknown): RpcError {
  return {
    jsonrpc: '2.0',
    id: idOf(body),
    error: { code: codeOf(error), message: error.message, data: toEnvelope(error, requestId) },
  };
}

function codeOf({ code, details, cause }: AppError): number {
  const rpcDetails = details['rpc'];
  if (typeof rpcDetails === 'number') return rpcDetails;
  if (cause instanceof SyntaxError) return rpcCodes.parseError;
  return rpcCodeOfError[code] ?? rpcCodes.refused;
}

const rpcCodeOfError: Partial<Record<ErrorCode, number>> = {
  invalid_request: rpcCodes.invalidRequest,
  invalid_params: rpcCodes.invalidParams,
  internal: rpcCodes.internal,
};

/** Returns the id of the request, or null if it cannot be determined (JSON-RPC 2.0 §5). */
function idOf(body: unknown): string | number | null {
  if (typeof body !== 'object' || body === null || !('method' in body) || !('id' in body)) {
    return null;
  }
  const { id } = body;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
