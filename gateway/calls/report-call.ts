import type { PendingApproval } from '#contracts/http/approvals';
import { AppError } from '#errors';
import type { Caller } from '../authentication/caller.ts';
import type { CallReport } from '../records/call-report.ts';
import { fieldsOfRequest } from '../records/record-call.ts';
import type { ParsedCall } from './domain/call-body.ts';
import type { CallDeps, CallOutcome, IncomingCall } from './incoming-call.ts';

/** What is known about a call while the gateway performs it. */
export interface CallProgress {
  /**
   * Reports that the call is waiting for a person. Its client may also be waiting for the answer.
   */
  readonly reportSuspended: (envelope: PendingApproval) => void;
  caller?: Caller;
  parsed?: ParsedCall;
  decision?: {
    readonly service: string;
    readonly action: string;
    readonly nonRead: boolean;
  };
}

/** Runs a call and reports its outcome. */
export async function withCallReport(
  { reportCall }: Pick<CallDeps, 'reportCall'>,
  { context }: Pick<IncomingCall, 'context'>,
  work: (progress: CallProgress) => Promise<CallOutcome>,
): Promise<CallOutcome> {
  const startedAt = performance.now();
  let isSuspended = false;
  const progress: CallProgress = {
    reportSuspended(envelope) {
      report(describeOutcome({ kind: 'pending', envelope }));
      isSuspended = true;
    },
  };
  const report = (end: Pick<CallReport, 'outcome'> & Partial<CallReport>) =>
    reportCall({
      requestId: context.requestId,
      caller: progress.caller?.claims.chain.map(({ name }) => name) ?? [],
      ...namesOf(progress),
      approvalUrl: null,
      changesSomething: progress.decision?.nonRead === true,
      upstreamStatus: null,
      ms: Math.round(performance.now() - startedAt),
      ...end,
      ...(isSuspended && { isResumed: true }),
    });
  try {
    const outcome = await work(progress);
    report(describeOutcome(outcome));
    return outcome;
  } catch (thrown) {
    report({ outcome: AppError.from(thrown).code });
    throw thrown;
  }
}

function namesOf({
  parsed,
  decision,
}: CallProgress): Pick<CallReport, 'service' | 'action' | 'approvalId' | 'isResumed'> {
  if (parsed === undefined) {
    return { service: null, action: null, approvalId: null, isResumed: false };
  }
  if (parsed.kind === 'resume') {
    return { service: null, action: null, approvalId: parsed.approvalId, isResumed: true };
  }
  const { service = null, action = null } = decision ?? fieldsOfRequest(parsed.call);
  return { service, action, approvalId: null, isResumed: false };
}

function describeOutcome(outcome: CallOutcome): Pick<CallReport, 'outcome'> & Partial<CallReport> {
  switch (outcome.kind) {
    case 'called':
      return { outcome: 'called', upstreamStatus: outcome.result.status_code };
    case 'denied':
      return { outcome: 'denied' };
    case 'pending': {
      const { approval_id: approvalId, approval_url: approvalUrl } = outcome.envelope;
      return { outcome: 'pending_approval', approvalId, approvalUrl };
    }
  }
}
