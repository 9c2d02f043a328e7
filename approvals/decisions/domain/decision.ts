import { decisionWords } from '#contracts/decision-words';
import type { Move } from '#contracts/decision-words';
import { findFieldFault } from '#contracts/http/approvals';
import type { ResolveApprovalBody } from '#contracts/http/approvals';
import { AppError } from '#errors';
import { parseTtl } from '#ttl';
import { visibleText } from '#templates';

export interface Decision {
  readonly move: Move;
  readonly remember: RememberOptions | null;
  readonly acknowledge: 'too_large' | null;
}

export interface RememberOptions {
  /** Undefined stands for the narrowest tier. */
  readonly keys: readonly string[] | undefined;
  /** `default` means the org's setting, and `forever` that the rule never expires (users only). */
  readonly ttlSeconds: number | 'default' | 'forever';
  readonly cascade: boolean;
}

/**
 * Parses a decision, which a body can express in two ways (docs/reference/approvals.md#decisions).
 */
export function parseDecision(body: ResolveApprovalBody): Decision {
  const fieldFault = findFieldFault(body, { isOverMcp: false });
  if (fieldFault)
    throw new AppError('invalid_params', fieldFault.message, {
      details: { issues: fieldFault.issues },
    });
  const { move, remembersFor } = decisionWords[body.resolution];
  return {
    move,
    remember: remembersFor === null ? null : readRememberOptions(body, remembersFor),
    acknowledge: body.acknowledge ?? null,
  };
}

function readRememberOptions(
  body: ResolveApprovalBody,
  fallbackTtl: 'default' | 'forever',
): RememberOptions {
  return {
    keys: body.remember_keys,
    ttlSeconds: body.ttl === undefined ? fallbackTtl : parseTtl(body.ttl),
    cascade: body.cascade ?? true,
  };
}

/**
 * The decider's reason for the caller and the audit log, or null. Removes NUL, which Postgres text
 * cannot hold.
 */
export function reasonOf({ reason }: ResolveApprovalBody): string | null {
  return reason === undefined ? null : visibleText(reason.replaceAll('\0', ''));
}
