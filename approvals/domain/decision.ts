import type { ResolveApprovalBody } from '#contracts/http/approvals';
import { AppError } from '#errors';
import { visibleText } from '#templates';
import { parseTtl } from './ttl.ts';

export type Decision =
  | {
      readonly kind: 'allow';
      readonly reason: string | null;
      readonly remember: Remember | null;
      readonly acknowledge: 'too_large' | null;
    }
  | { readonly kind: 'deny'; readonly reason: string | null }
  | { readonly kind: 'bubble' };

export interface Remember {
  /** Undefined: the narrowest tier. */
  readonly keys: readonly string[] | undefined;
  /** `default` is the org's setting, `forever` no expiry (users only). */
  readonly ttlSeconds: number | 'default' | 'forever';
  readonly cascade: boolean;
}

/** Reads a decision in either of its two vocabularies (docs/reference/approvals.md#decisions). */
export function parseDecision(body: ResolveApprovalBody): Decision {
  const acknowledge = body.acknowledge ?? null;
  const reason = body.reason === undefined ? null : shownReason(body.reason);
  switch (body.resolution) {
    case 'allow':
    case 'allow_once':
      refuseRemembering(body);
      return { kind: 'allow', reason, remember: null, acknowledge };
    case 'deny':
      refuseRemembering(body);
      return { kind: 'deny', reason };
    case 'bubble':
      refuseRemembering(body);
      return { kind: 'bubble' };
    case 'allow_remember':
    case 'allow_always': {
      const withoutTtl = body.resolution === 'allow_always' ? 'forever' : 'default';
      const ttlSeconds = body.ttl === undefined ? withoutTtl : parseTtl(body.ttl);
      const remember: Remember = {
        keys: body.remember_keys,
        ttlSeconds,
        cascade: body.cascade ?? true,
      };
      return { kind: 'allow', reason, remember, acknowledge };
    }
  }
}

/** Whoever sends what to remember, and for how long, must not believe that it was. */
function refuseRemembering(body: ResolveApprovalBody): void {
  const given = (['remember_keys', 'ttl'] as const).filter((field) => body[field] !== undefined);
  if (given.length === 0) return;
  throw new AppError(
    'invalid_params',
    `Send ${given.join(' and ')} only with allow_remember or allow_always.`,
    {
      details: {
        issues: given.map((path) => ({
          path,
          message: `goes with allow_remember, not with ${body.resolution}`,
        })),
      },
    },
  );
}

/** What is shown to the caller and in the audit log; Postgres text holds no NUL. */
function shownReason(text: string): string {
  return visibleText(text.replaceAll('\0', ''));
}
