import { z } from 'zod';

import type { AppError, ErrorCode } from '#errors';
import { toEnvelope } from '../http/error-handler.ts';

/** The error codes of JSON-RPC 2.0 §5.1, and the codes that MCP SDKs use for HTTP errors. */
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

const issuesShownMax = 3;
const issueCharactersMax = 200;
const issues = z
  .array(z.object({ path: z.array(z.union([z.string(), z.number()])), message: z.string() }))
  .min(1);
const initializeParams =
  'Send params with protocolVersion, such as "2025-11-25", capabilities, such as {}, and clientInfo with name and version.';

/**
 * Makes the SDK's answers readable. The SDK answers a malformed request with its validator's list
 * of issues as JSON text. This list is replaced by a sentence, with the code of invalid params
 * (JSON-RPC 2.0 §5.1). All other answers are returned as they are.
 */
export function explainAnswer<Answer extends object>(answer: Answer, method: unknown): Answer {
  if (!('error' in answer)) return answer;
  const { error } = answer as { error?: { message?: unknown } };
  const text = typeof error?.message === 'string' ? error.message : '';
  const foundIssues = readIssues(text.slice(Math.max(text.search(/\[\s*\{/), 0)));
  if (foundIssues === undefined) return answer;
  const problems = foundIssues.slice(0, issuesShownMax).map(({ path, message }) => {
    return `${path.join('.').slice(0, issueCharactersMax)} ${message.slice(0, issueCharactersMax)}`;
  });
  const hint = method === 'initialize' ? ` ${initializeParams}` : '';
  const message = `The request is malformed: ${problems.join('; ')}.${hint}`;
  return { ...answer, error: { ...error, code: rpcCodes.invalidParams, message } };
}

function readIssues(text: string): z.infer<typeof issues> | undefined {
  try {
    return issues.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
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
