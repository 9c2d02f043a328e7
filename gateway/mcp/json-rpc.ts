import type { AppError, ErrorCode } from '#errors';
import { toEnvelope } from '../plugins/error-handler.ts';

/** JSON-RPC 2.0 §5.1, and the code of the MCP SDKs for what only HTTP has a word for. */
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

/** A refusal as a JSON-RPC answer: our envelope is its `data`. */
export function rpcError(error: AppError, requestId: string, body?: unknown): RpcError {
  return {
    jsonrpc: '2.0',
    id: idOf(body),
    error: { code: codeOf(error), message: error.message, data: toEnvelope(error, requestId) },
  };
}

function codeOf({ code, details, cause }: AppError): number {
  const given = details['rpc'];
  if (typeof given === 'number') return given;
  if (cause instanceof SyntaxError) return rpcCodes.parseError;
  return codes[code] ?? rpcCodes.refused;
}

const codes: Partial<Record<ErrorCode, number>> = {
  invalid_request: rpcCodes.invalidRequest,
  invalid_params: rpcCodes.invalidParams,
  internal: rpcCodes.internal,
};

/** The id of a request whose id could be read; null otherwise (JSON-RPC 2.0 §5). */
function idOf(body: unknown): string | number | null {
  if (typeof body !== 'object' || body === null || !('method' in body) || !('id' in body)) {
    return null;
  }
  const { id } = body;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
