import type { AuditEntry } from '#contracts/audit';
import type { CallContext } from '#contracts/vocabulary';
import type { AppError, ErrorCode } from '#errors';
import type { Publisher } from '#events';
import { repeat } from '#process';
import type { Logger } from '#telemetry';
import type { Caller } from './authenticate.ts';
import { entryOf, publishEntry } from './record.ts';

export type RefusalType = 'action.refused' | 'approval.refused' | 'request.refused';

export interface Refusal {
  readonly type: RefusalType;
  readonly caller: Caller;
  readonly context: CallContext;
  readonly error: AppError;
  /** What was asked for, as far as it is known. */
  readonly facts: Partial<AuditEntry>;
}

/**
 * Records what authenticated callers were refused. The first refusal of a kind has its record before
 * it is answered; the same again within the minute is counted, and the count becomes one record
 * when the minute ends or the gateway stops.
 */
export interface Refusals extends AsyncDisposable {
  /**
   * Throws `unavailable` when the record cannot be stored. An error that was recorded, here or by
   * another component, is not recorded again.
   */
  record(refusal: Refusal): Promise<void>;
}

interface Counted {
  readonly stored: Promise<void>;
  latest: Refusal;
  again: number;
}

interface Minute {
  readonly counted: Map<string, Counted>;
  readonly kindsOf: Map<string, number>;
}

const minuteMs = 60_000;
/** Of one identity in a minute; what it is refused beyond is counted by its code alone. */
const kindsMaxPerIdentity = 20;
/** Of all identities; beyond, nothing is counted and each refusal has a record of its own. */
const countedMax = 10_000;

/**
 * What is no refusal: the caller is to try again, is not known, or is told how far its earlier call is.
 */
const otherCodes: ReadonlySet<ErrorCode> = new Set([
  'unavailable',
  'internal',
  'unauthenticated',
  'rate_limited',
  'execution_in_progress',
  'outcome_unknown',
]);

export function openRefusals({
  publisher,
  logger,
}: {
  publisher: Publisher;
  logger: Pick<Logger, 'error'>;
}): Refusals {
  const recorded = new WeakSet<AppError>();
  let minute = emptyMinute();

  const publish = (refusal: Refusal, count: number | null) =>
    publishEntry(publisher, refusal.caller.claims, {
      type: refusal.type,
      entry: { ...refusedEntry(refusal), count },
    });
  const endMinute = async (): Promise<void> => {
    const { counted } = minute;
    minute = emptyMinute();
    for (const { latest, again } of counted.values()) {
      if (again === 0) continue;
      try {
        await publish(latest, again);
      } catch (error) {
        logger.error({ err: error, count: again }, 'refusals could not be recorded');
      }
    }
  };
  const minutes = repeat(minuteMs, endMinute);

  return {
    async record(refusal) {
      const { error } = refusal;
      if (recorded.has(error) || !isRefusal(error)) return;
      recorded.add(error);
      const { counted } = minute;
      const kind = kindOf(minute, refusal);
      const known = counted.get(kind.key);
      if (known !== undefined) {
        known.latest = kind.refusal;
        known.again += 1;
        return known.stored;
      }
      const stored = publish(kind.refusal, null);
      if (counted.size >= countedMax) return stored;
      counted.set(kind.key, { stored, latest: kind.refusal, again: 0 });
      try {
        await stored;
      } catch (thrown) {
        // The next one tries again to have it stored.
        counted.delete(kind.key);
        throw thrown;
      }
    },
    async [Symbol.asyncDispose]() {
      await minutes[Symbol.asyncDispose]();
      await endMinute();
    },
  };
}

/** An id in `details` is that of a record which another component has written. */
function isRefusal({ code, details }: AppError): boolean {
  return !otherCodes.has(code) && details['busy'] !== true && details['audit_id'] === undefined;
}

function emptyMinute(): Minute {
  return { counted: new Map(), kindsOf: new Map() };
}

/** An identity that tries many targets in turn does not get a record for each of them. */
function kindOf({ counted, kindsOf }: Minute, refusal: Refusal): { key: string; refusal: Refusal } {
  const { type, caller, error, facts } = refusal;
  const { identityId } = caller.claims;
  const { service = null, action = null, approval_id: approvalId = null } = facts;
  const key = JSON.stringify([identityId, type, error.code, service, action, approvalId]);
  if (counted.has(key)) return { key, refusal };
  const kinds = kindsOf.get(identityId) ?? 0;
  if (kinds < kindsMaxPerIdentity) {
    kindsOf.set(identityId, kinds + 1);
    return { key, refusal };
  }
  const folded = JSON.stringify([identityId, type, error.code]);
  return { key: folded, refusal: { ...refusal, facts: {} } };
}

function refusedEntry({ caller, context, error, facts }: Refusal): AuditEntry {
  return {
    ...entryOf(caller.claims, context, `Refused: ${error.message}`),
    ...facts,
    outcome: 'refused',
    error: error.code,
  };
}
