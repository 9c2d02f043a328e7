import type { FastifyRequest } from 'fastify';

import type { AuditEntry } from '#contracts/audit';
import { id } from '#contracts/vocabulary';
import { AppError, errorCodes } from '#errors';
import { contextOf } from './request-context.ts';
import type { Refusal, Refusals, RefusalType } from './refusals.ts';

type RefusedAction = Pick<Refusal, 'type' | 'fields'>;
type Requester = Pick<Refusal, 'caller' | 'context'>;

/** Records the error of a request if it belongs in the audit log. */
export async function recordRefusal(
  refusals: Refusals,
  { action, requester, error }: { action: RefusedAction; requester: Requester; error: AppError },
): Promise<void> {
  if (mustBeRecorded(action.type, error)) await refusals.record({ ...action, ...requester, error });
}

/**
 * Whether the gateway records an error: every error of a call or decision, and a 403 of any other
 * request. It does not record `approval_stale`, because the execution that ends with this error has
 * its own record.
 */
function mustBeRecorded(type: RefusalType, { code, details }: AppError): boolean {
  if (details['edge'] !== undefined || code === 'approval_stale') return false;
  return type !== 'request.refused' || errorCodes[code].httpStatus === 403;
}

/**
 * Records the error of a request. Returns the error to answer with: the given error or, if
 * recording fails, the error from recording.
 */
export async function recordRequestRefusal(
  refusals: Refusals,
  request: FastifyRequest,
  { action, error }: { action: RefusedAction | null; error: AppError },
): Promise<AppError> {
  // Without a caller there is no org, and therefore no audit log for the record.
  const { caller } = request;
  if (action === null || caller === null) return error;
  const requester = { caller, context: contextOf(request) };
  try {
    await recordRefusal(refusals, { action, requester, error });
    return error;
  } catch (error) {
    return AppError.from(error);
  }
}

/** Describes for the record what a REST request asked for; null if the request changes nothing. */
export function describeRestRequest(request: FastifyRequest): RefusedAction | null {
  const { spec } = request.routeOptions.config;
  if (spec === undefined || spec.method === 'GET' || spec.audit === 'none') return null;
  const { id: idInPath } = (request.params ?? {}) as { id?: unknown };
  if (spec.path.startsWith('/v1/actions/')) {
    return { type: 'action.refused', fields: readCallFields(request.body) };
  }
  if (spec.path.startsWith('/v1/approvals/')) {
    return { type: 'approval.refused', fields: readApprovalField(idInPath) };
  }
  return { type: 'request.refused', fields: { action: `${spec.method} ${spec.path}` } };
}

/**
 * Describes for the record what a tool call over MCP asked for; null if the tool changes nothing.
 */
export function describeToolCall(
  { name, refusedAs: type }: { readonly name: string; readonly refusedAs: RefusalType | null },
  input: unknown,
): RefusedAction | null {
  if (type === null) return null;
  if (type === 'action.refused') return { type, fields: readCallFields(input) };
  const { approval_id: approvalId, operation } = toObject(input);
  if (type === 'approval.refused') return { type, fields: readApprovalField(approvalId) };
  return { type, fields: { action: `${name} ${toCutText(operation, 100) ?? ''}`.trimEnd() } };
}

/**
 * Reads from an unvalidated body which action the caller wanted to call, but none of the values to
 * be sent.
 */
function readCallFields(body: unknown): RefusedAction['fields'] {
  const { service, action, method, approval_id: approvalId } = toObject(body);
  return {
    service: toCutText(service, 100),
    action: toCutText(action ?? method, 300),
    ...readApprovalField(approvalId),
  };
}

function readApprovalField(input: unknown): Partial<AuditEntry> {
  const parseResult = id.safeParse(input);
  return { approval_id: parseResult.success ? parseResult.data.toLowerCase() : null };
}

function toCutText(value: unknown, charactersMax: number): string | null {
  return typeof value === 'string' ? value.slice(0, charactersMax) : null;
}

function toObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
