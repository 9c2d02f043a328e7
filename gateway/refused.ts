import type { FastifyRequest } from 'fastify';

import type { AuditEntry } from '#contracts/audit';
import { id } from '#contracts/vocabulary';
import { AppError, errorCodes } from '#errors';
import { contextOf } from './context.ts';
import type { Refusal, Refusals, RefusalType } from './refusals.ts';

type Asked = Pick<Refusal, 'type' | 'facts'>;
type Asker = Pick<Refusal, 'caller' | 'context'>;

/** What of an error with which a request ended belongs to the audit log: the first argument of `record`. */
export async function recordRefused(
  refusals: Refusals,
  { asked, asker, error }: { asked: Asked; asker: Asker; error: AppError },
): Promise<void> {
  if (isRecorded(asked.type, error)) await refusals.record({ ...asked, ...asker, error });
}

/**
 * Of calls and decisions, whatever they were refused for; of everything else, what the caller may not
 * do. A replay of which another request would have left is the end of an execution, which has its record.
 */
function isRecorded(type: RefusalType, { code, details }: AppError): boolean {
  if (details['edge'] !== undefined || code === 'approval_stale') return false;
  return type !== 'request.refused' || errorCodes[code].httpStatus === 403;
}

/** The error to answer a request with: the one it ended with, once that is recorded. */
export async function afterRecording(
  refusals: Refusals,
  request: FastifyRequest,
  { asked, error }: { asked: Asked | null; error: AppError },
): Promise<AppError> {
  // Without a known caller there is no org whose log it could be in.
  const { caller } = request;
  if (asked === null || caller === null) return error;
  const asker = { caller, context: contextOf(request) };
  try {
    await recordRefused(refusals, { asked, asker, error });
    return error;
  } catch (thrown) {
    return AppError.from(thrown);
  }
}

/** What a request to a route of the table asked for; null for what changes nothing. */
export function askedOverRest(request: FastifyRequest): Asked | null {
  const { spec } = request.routeOptions.config;
  if (spec === undefined || spec.method === 'GET' || spec.audit === 'none') return null;
  const { id: named } = (request.params ?? {}) as { id?: unknown };
  if (spec.path.startsWith('/v1/actions/')) {
    return { type: 'action.refused', facts: callFacts(request.body) };
  }
  if (spec.path.startsWith('/v1/approvals/')) {
    return { type: 'approval.refused', facts: approvalFacts(named) };
  }
  return { type: 'request.refused', facts: { action: `${spec.method} ${spec.path}` } };
}

/** The same of a tool over MCP. */
export function askedOfTool(
  { name, refusedAs: type }: { readonly name: string; readonly refusedAs: RefusalType | null },
  given: unknown,
): Asked | null {
  if (type === null) return null;
  if (type === 'action.refused') return { type, facts: callFacts(given) };
  const { approval_id: approvalId, operation } = asObject(given);
  if (type === 'approval.refused') return { type, facts: approvalFacts(approvalId) };
  return { type, facts: { action: `${name} ${textOf(operation, 100) ?? ''}`.trimEnd() } };
}

/** Of a body that may be anything: what was to be called, nothing of what was to be sent. */
function callFacts(body: unknown): Asked['facts'] {
  const { service, action, method, approval_id: approvalId } = asObject(body);
  return {
    service: textOf(service, 100),
    action: textOf(action ?? method, 300),
    ...approvalFacts(approvalId),
  };
}

function approvalFacts(given: unknown): Partial<AuditEntry> {
  const parsed = id.safeParse(given);
  return { approval_id: parsed.success ? parsed.data.toLowerCase() : null };
}

function textOf(given: unknown, charactersMax: number): string | null {
  return typeof given === 'string' ? given.slice(0, charactersMax) : null;
}

function asObject(given: unknown): Readonly<Record<string, unknown>> {
  return typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : {};
}
