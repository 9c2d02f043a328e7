import type { AuditEntry } from '#contracts/audit';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { ErrorCode } from '#errors';
import type { Publisher } from '#events';
import { repeat } from '#process';
import type { Logger } from '#telemetry';
import type { Caller } from '../authentication/caller.ts';
import { createEntry, publishEntry } from './record-call.ts';

export type RefusalType = 'action.refused' | 'approval.refused' | 'request.refused';

export interface Refusal {
  readonly type: RefusalType;
  readonly caller: Caller;
  readonly context: CallContext;
  readonly error: AppError;
  /** The fields of the audit entry that are known from the refused request. */
  readonly fields: Partial<AuditEntry>;
}

/**
 * Records refusals of authenticated callers. The first refusal of each kind is recorded before the
 * gateway answers. Repetitions within the same minute are counted and become one record when the
 * minute ends or the gateway stops.
 */
export interface Refusals extends AsyncDisposable {
  /**
   * Throws `unavailable` if the record cannot be stored. Ignores errors that this or another
   * component has already recorded.
   */
  record(refusal: Refusal): Promise<void>;
}

interface CountedKind {
  readonly firstRecordStored: Promise<void>;
  latest: Refusal;
  repetitions: number;
}

interface RefusalMinute {
  readonly counted: Map<string, CountedKind>;
  readonly kindCountsByIdentity: Map<string, number>;
}

const minuteMs = 60_000;
/**
 * The most different kinds of refusals per identity and minute. Further refusals are counted by
 * their error code alone.
 */
const kindsMaxPerIdentity = 20;
/**
 * The most different kinds of refusals of all identities together. Each further refusal gets its
 * own record.
 */
const countedKindsMax = 10_000;

/**
 * Errors that are not refusals: the caller should retry, is not authenticated, or is told the state
 * of an earlier call.
 */
const codesOfOtherErrors: ReadonlySet<ErrorCode> = new Set([
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
  const recordedErrors = new WeakSet<AppError>();
  /**
   * An MCP tool may wrap a recorded refusal in an error with another message. The recorded error is
   * then the cause.
   */
  const isRecorded = (error: AppError): boolean =>
    recordedErrors.has(error) ||
    (error.cause instanceof AppError && recordedErrors.has(error.cause));
  let minute = createMinute();

  const publishRefusals = (refusal: Refusal, count: number | null) =>
    publishEntry(publisher, refusal.caller.claims, {
      type: refusal.type,
      entry: { ...createRefusedEntry(refusal), count },
    });
  const endMinute = async (): Promise<void> => {
    const { counted } = minute;
    minute = createMinute();
    for (const { latest, repetitions } of counted.values()) {
      if (repetitions === 0) continue;
      try {
        await publishRefusals(latest, repetitions);
      } catch (error) {
        logger.error({ err: error, count: repetitions }, 'refusals could not be recorded');
      }
    }
  };
  const minuteTimer = repeat(minuteMs, endMinute);

  return {
    async record(refusal) {
      const { error } = refusal;
      if (isRecorded(error) || !isRefusal(error)) return;
      recordedErrors.add(error);
      const { counted } = minute;
      const kind = kindOf(minute, refusal);
      const knownKind = counted.get(kind.key);
      if (knownKind !== undefined) {
        knownKind.latest = kind.refusal;
        knownKind.repetitions += 1;
        return knownKind.firstRecordStored;
      }
      const firstRecord = publishRefusals(kind.refusal, null);
      if (counted.size >= countedKindsMax) return firstRecord;
      counted.set(kind.key, {
        firstRecordStored: firstRecord,
        latest: kind.refusal,
        repetitions: 0,
      });
      try {
        await firstRecord;
      } catch (error) {
        // The record was not stored, so the next refusal of this kind tries to store one again.
        counted.delete(kind.key);
        throw error;
      }
    },
    async [Symbol.asyncDispose]() {
      await minuteTimer[Symbol.asyncDispose]();
      await endMinute();
    },
  };
}

/** An `audit_id` in `details` means that another component has recorded the error. */
function isRefusal({ code, details }: AppError): boolean {
  return (
    !codesOfOtherErrors.has(code) && details['busy'] !== true && details['audit_id'] === undefined
  );
}

function createMinute(): RefusalMinute {
  return { counted: new Map(), kindCountsByIdentity: new Map() };
}

/**
 * Returns the kind of a refusal. Beyond the limit per identity, the kind names no target. So an
 * identity that tries many targets does not get one record per target.
 */
function kindOf(
  { counted, kindCountsByIdentity: kindCounts }: RefusalMinute,
  refusal: Refusal,
): { key: string; refusal: Refusal } {
  const { type, caller, error, fields } = refusal;
  const { identityId } = caller.claims;
  const { service = null, action = null, approval_id: approvalId = null } = fields;
  const key = JSON.stringify([identityId, type, error.code, service, action, approvalId]);
  if (counted.has(key)) return { key, refusal };
  const kindCount = kindCounts.get(identityId) ?? 0;
  if (kindCount < kindsMaxPerIdentity) {
    kindCounts.set(identityId, kindCount + 1);
    return { key, refusal };
  }
  const keyWithoutTarget = JSON.stringify([identityId, type, error.code]);
  return { key: keyWithoutTarget, refusal: { ...refusal, fields: {} } };
}

function createRefusedEntry({ caller, context, error, fields }: Refusal): AuditEntry {
  return {
    ...createEntry(caller.claims, context, `Refused: ${error.message}`),
    ...fields,
    outcome: 'refused',
    error: error.code,
  };
}
