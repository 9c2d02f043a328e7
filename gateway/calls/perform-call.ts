import { deadlineIn } from '#bus';
import type { ErrorCode } from '#contracts/errors';
import { AppError } from '#errors';
import { inLayer } from '#telemetry';
import { fieldsOfRequest, fieldsOfDecision, recordDenied } from '../records/record-call.ts';
import type { Refusal } from '../records/refusals.ts';
import { awaitDecision } from './await-decision.ts';
import { executePermittedCall } from './execute-permitted.ts';
import type { PermittedCall } from './execute-permitted.ts';
import type { CallDeps, CallOutcome, IncomingCall } from './incoming-call.ts';
import { withCallReport } from './report-call.ts';
import type { CallProgress } from './report-call.ts';

const resumeMsMax = 120_000;

/**
 * Performs an action call, from REST or MCP, in five layers: transport, authentication, permission,
 * execution, audit (docs/reference/calling.md#the-five-layers).
 */
export function performCall(deps: CallDeps, incomingCall: IncomingCall): Promise<CallOutcome> {
  return withCallReport(deps, incomingCall, (progress) => runCall(deps, incomingCall, progress));
}

async function runCall(
  deps: CallDeps,
  incomingCall: IncomingCall,
  progress: CallProgress,
): Promise<CallOutcome> {
  const { context } = incomingCall;

  // 1. Transport: the request becomes a call, or is refused with an error that names the wrong
  // field.
  const parsedCall = await inLayer('transport', {}, async () => incomingCall.parse());
  progress.parsed = parsedCall;

  // 2. Authentication: the credential becomes a principal signed by auth.
  const caller = await inLayer('authentication', {}, () => incomingCall.authenticate());
  progress.caller = caller;

  // A denial would add a row to the audit log. The caller's share of the log must therefore have
  // room for another row.
  deps.auditShare.assertRoom(caller.claims);

  if (parsedCall.kind === 'resume') {
    const auditFields = { approval_id: parsedCall.approvalId };
    const resumeCall = () =>
      inLayer('execution', {}, () =>
        deps.approvals.resume(
          { principal: caller.principal, id: parsedCall.approvalId, context },
          deadlineIn(resumeMsMax),
        ),
      );
    const state = await recordRefusals(
      deps,
      { caller, context, fields: auditFields, recordedCodes: recordedResumeErrors },
      resumeCall,
    );
    return awaitDecision(deps, incomingCall, state);
  }

  // 3. Permission: policy decides along the caller's chain of identities, and signs its decision.
  // 5. Audit: if policy refuses the call with an error, the gateway records the error.
  const { call, options } = parsedCall;
  const decision = await recordRefusals(
    deps,
    { caller, context, fields: fieldsOfRequest(call) },
    () =>
      inLayer('permission', { 'aag.service': call.service }, () =>
        deps.policy.decide({ principal: caller.principal, call, options }, deadlineIn(5_000)),
      ),
  );

  progress.decision = decision;

  switch (decision.outcome) {
    case 'denied': {
      // 5. Audit: no other component records a denial, so the gateway records it before it answers.
      const { reason } = decision;
      await recordDenied(deps, { caller, context, summary: decision, reason, approvalId: null });
      return { kind: 'denied', reason, approvalId: null };
    }
    case 'permit':
      // 4. and 5. Execution and audit: the executor makes the call, and commits its audit events
      // before it answers.
      return recordRefusals(deps, { caller, context, fields: fieldsOfDecision(decision) }, () =>
        executeCall(deps, { incoming: incomingCall, caller, freshCall: parsedCall, decision }),
      );
    case 'gap': {
      // 4. and 5. Suspension and audit: approvals stores the call, and emits an event that becomes
      // the audit record.
      const state = await recordRefusals(
        deps,
        { caller, context, fields: fieldsOfDecision(decision) },
        () =>
          inLayer('execution', { 'aag.suspended': true }, () =>
            deps.approvals.raise(
              { principal: caller.principal, gap: decision.gap, call, options, context },
              deadlineIn(15_000),
            ),
          ),
      );
      if (state.kind === 'pending') progress.reportSuspended(state.envelope);
      if (state.kind === 'denied') {
        const { reason, approvalId } = state;
        await recordDenied(deps, { caller, context, summary: decision, reason, approvalId });
      }
      return awaitDecision(deps, incomingCall, state);
    }
  }
}

/**
 * The errors that the gateway records as refusals when a call is resumed. Any other error is the
 * outcome of the resumed call, which was already recorded.
 */
const recordedResumeErrors: ReadonlySet<ErrorCode> = new Set([
  'forbidden',
  'identity_archived',
  'not_found',
  'not_in_your_chain',
]);

type RefusalContext = Pick<Refusal, 'caller' | 'context' | 'fields'> & {
  recordedCodes?: ReadonlySet<ErrorCode>;
};

/** Runs `work` and records its typed error before rethrowing it. */
async function recordRefusals<T>(
  { refusals }: CallDeps,
  { recordedCodes, ...refusalContext }: RefusalContext,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const error = AppError.from(thrown);
    if (recordedCodes?.has(error.code) !== false) {
      await refusals.record({ type: 'action.refused', ...refusalContext, error });
    }
    throw error;
  }
}

async function executeCall(deps: CallDeps, permitted: PermittedCall): Promise<CallOutcome> {
  const { incoming, caller, decision } = permitted;
  const execution = await inLayer('execution', {}, () => executePermittedCall(deps, permitted));
  if (execution.kind === 'called') {
    const { result, auditId } = execution;
    const { description, service } = decision;
    return { kind: 'called', result, auditId, description, service };
  }
  // An earlier call with this idempotency key was suspended, so the answer is the current state of
  // that call's approval.
  const state = await deps.approvals.resume(
    { principal: caller.principal, id: execution.approvalId, context: incoming.context },
    deadlineIn(resumeMsMax),
  );
  return awaitDecision(deps, incoming, state);
}
