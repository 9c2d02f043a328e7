import type { FeedItem } from '#contracts/events';
import type { Execution } from '#contracts/http/approvals';
import { errorCodes } from '#errors';
import type { ErrorCode } from '#errors';

/** How a request ended: the outcome of a call, or the code of an error. */
export type Outcome = 'called' | 'pending_approval' | 'denied' | ErrorCode;

/** The outcome of a call or an execution, without any of its content. */
export interface CallReport {
  /** Null for an execution if no request waited for it. */
  readonly requestId: string | null;
  /** The names in the caller's chain, beginning with the user. Empty if the caller is not known. */
  readonly caller: readonly string[];
  /** Null if the request names no service, for example when it continues a suspended call. */
  readonly service: string | null;
  readonly action: string | null;
  readonly approvalId: string | null;
  readonly approvalUrl: string | null;
  /**
   * Whether an earlier report said that the call waits for a person. The report of its execution
   * then contains the outcome.
   */
  readonly isResumed: boolean;
  readonly changesSomething: boolean;
  readonly outcome: Outcome;
  /** The status with which the upstream answered. */
  readonly upstreamStatus: number | null;
  readonly ms: number;
}

/**
 * Returns the report for an item of the feed that tells how an execution ended; null for other
 * items.
 */
export function reportOfExecution({ event }: FeedItem): CallReport | null {
  if (event.type !== 'execution.finished') return null;
  const { approval_id: approvalId, execution } = event.data as unknown as {
    readonly approval_id: string;
    readonly execution: Execution;
  };
  const { status, error, http_status_code: upstreamStatus = null } = execution;
  if (status === 'cancelled') return null;
  const { started_at: startedAt, finished_at: finishedAt } = execution;
  return {
    requestId: null,
    caller: [],
    service: null,
    action: null,
    approvalId,
    approvalUrl: null,
    isResumed: false,
    changesSomething: status === 'executed',
    outcome: status === 'executed' ? 'called' : toOutcome(error?.error ?? status),
    upstreamStatus,
    ms:
      startedAt === null || finishedAt === null
        ? 0
        : Date.parse(finishedAt) - Date.parse(startedAt),
  };
}

function toOutcome(error: string): Outcome {
  if (error === 'denied') return error;
  return Object.hasOwn(errorCodes, error) ? (error as ErrorCode) : 'internal';
}
