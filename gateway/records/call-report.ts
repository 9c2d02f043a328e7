import type { FeedItem } from '#contracts/events';
import type { Execution } from '#contracts/http/approvals';
import { errorCodes } from '#errors';
import type { ErrorCode } from '#errors';

/** How a request ended: what became of a call, or the code of an error. */
export type Outcome = 'called' | 'pending_approval' | 'denied' | ErrorCode;

/** What became of a call or an execution, without anything that it carried. */
export interface CallReport {
  /** Null for an execution that no request waited for. */
  readonly requestId: string | null;
  /** The names on the caller's chain, its user first; empty for a caller that is not known. */
  readonly caller: readonly string[];
  /** Null when the request named none, as when it continues a suspended call. */
  readonly service: string | null;
  readonly action: string | null;
  readonly approvalId: string | null;
  readonly approvalUrl: string | null;
  /**
   * Whether it was already reported that the call waits for a person. The report of its execution
   * then tells what became of it.
   */
  readonly isResumed: boolean;
  readonly changesSomething: boolean;
  readonly outcome: Outcome;
  /** The status with which the upstream answered. */
  readonly upstreamStatus: number | null;
  readonly ms: number;
}

/** The report of an item of the feed that says how an execution ended; null for other items. */
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
