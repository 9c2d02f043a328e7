import { deadlineIn } from '#bus';
import { executor as executorContract } from '#contracts/bus/executor';
import type { Call, CallResult } from '#contracts/call';
import type { ErrorCode } from '#contracts/errors';
import type { PendingApproval } from '#contracts/http/approvals';
import { platformKey } from '#contracts/platform';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { inSpan } from '#telemetry';
import type { Caller } from './authenticate.ts';
import type { AskedCall } from './domain/call-body.ts';
import type { Deps } from './deps.ts';
import { asAsked, factsOf, recordDenied, recordUnanswered } from './record.ts';
import type { Refusal } from './refusals.ts';
import { awaitDecision } from './wait.ts';

/** What a call ends as, whichever surface it came by. */
export type CallOutcome =
  | {
      readonly kind: 'called';
      readonly result: CallResult;
      readonly description: string;
      readonly auditId: string;
    }
  | { readonly kind: 'pending'; readonly envelope: PendingApproval }
  | { readonly kind: 'denied'; readonly reason: string; readonly approvalId: string | null };

export interface IncomingCall {
  /** Reads the request into a call; throws `invalid_request`. */
  readonly parse: () => AskedCall;
  /** Who calls, as of now: asked again while a call waits, because a principal lives for seconds. */
  readonly authenticate: () => Promise<Caller>;
  readonly waitMs: number;
  /** Aborts when the client is gone. */
  readonly signal: () => AbortSignal;
  readonly context: CallContext;
}

type Decision = Awaited<ReturnType<CallDeps['policy']['decide']>>;
type Permitted = Extract<Decision, { outcome: 'permit' }>;
type Fresh = Extract<AskedCall, { kind: 'fresh' }>;
export type CallDeps = Pick<
  Deps,
  | 'policy'
  | 'executor'
  | 'approvals'
  | 'publisher'
  | 'refusals'
  | 'auditShare'
  | 'feed'
  | 'announceDisconnect'
  | 'stopping'
  | 'logger'
>;

/** How much longer than the upstream the executor may take to answer. */
const executorExtraMs = 8_000;
const resumeMsMax = 120_000;
/**
 * Pauses before an executor is asked again. A full one: others may have room, so they are looked for
 * at once, and after two refusals the next may let the call wait. None at all: one is just starting.
 */
const pausesMs = { full: [20, 80, 300], none: [50, 150, 400] };
const asksWithoutWaiting = 2;

/**
 * Takes every action call, over REST and MCP alike, through its five layers in order: transport,
 * authentication, permission, execution, audit (docs/reference/calling.md#the-five-layers).
 */
export async function performCall(deps: CallDeps, incoming: IncomingCall): Promise<CallOutcome> {
  const { context } = incoming;

  // 1. Transport: what was sent becomes one call, or a typed error that names the field.
  const asked = await inSpan('transport', {}, async () => incoming.parse());

  // 2. Authentication: the credential becomes a principal that auth has signed.
  const caller = await inSpan('authentication', {}, () => incoming.authenticate());

  // Each denial is a row of its own.
  deps.auditShare.assertRoom(caller.claims);

  if (asked.kind === 'resume') {
    const facts = { approval_id: asked.approvalId };
    const resume = () =>
      inSpan('execution', {}, () =>
        deps.approvals.resume(
          { principal: caller.principal, id: asked.approvalId, context },
          deadlineIn(resumeMsMax),
        ),
      );
    const state = await refusing(deps, { caller, context, facts, codes: resumeRefusals }, resume);
    return awaitDecision(deps, incoming, state);
  }

  // 3. Permission: policy walks the chain and signs what it decided. 5. Refusals are recorded here.
  const { call, options } = asked;
  const decision = await refusing(deps, { caller, context, facts: asAsked(call) }, () =>
    inSpan('permission', { 'aag.service': call.service }, () =>
      deps.policy.decide({ principal: caller.principal, call, options }, deadlineIn(5_000)),
    ),
  );

  switch (decision.outcome) {
    case 'denied': {
      // 5. Audit: nothing ran, so the gateway itself writes the record, before it answers.
      const { reason } = decision;
      await recordDenied(deps, { caller, context, summary: decision, reason, approvalId: null });
      return { kind: 'denied', reason, approvalId: null };
    }
    case 'permit':
      // 4. and 5. Execution: the executor sends, and commits its audit events before it answers.
      return refusing(deps, { caller, context, facts: factsOf(decision) }, () =>
        execute(deps, { incoming, caller, asked, decision }),
      );
    case 'gap': {
      // 4. and 5. Suspension: approvals keeps the call, and its event is the audit record.
      const state = await refusing(deps, { caller, context, facts: factsOf(decision) }, () =>
        inSpan('execution', { 'aag.suspended': true }, () =>
          deps.approvals.raise(
            { principal: caller.principal, gap: decision.gap, call, options, context },
            deadlineIn(15_000),
          ),
        ),
      );
      if (state.kind === 'denied') {
        const { reason, approvalId } = state;
        await recordDenied(deps, { caller, context, summary: decision, reason, approvalId });
      }
      return awaitDecision(deps, incoming, state);
    }
  }
}

/** Other errors of a resume say how the call ended, which has its records. */
const resumeRefusals: ReadonlySet<ErrorCode> = new Set([
  'forbidden',
  'identity_archived',
  'not_found',
  'not_in_your_chain',
]);

type Refusing = Pick<Refusal, 'caller' | 'context' | 'facts'> & { codes?: ReadonlySet<ErrorCode> };

/** Records a typed refusal before it is answered. */
async function refusing<T>(
  { refusals }: CallDeps,
  { codes, ...about }: Refusing,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const error = AppError.from(thrown);
    if (codes?.has(error.code) !== false) {
      await refusals.record({ type: 'action.refused', ...about, error });
    }
    throw error;
  }
}

interface Execution {
  readonly incoming: IncomingCall;
  readonly caller: Caller;
  readonly asked: Fresh;
  readonly decision: Permitted;
}

async function execute(
  deps: CallDeps,
  { incoming, caller, asked, decision }: Execution,
): Promise<CallOutcome> {
  const { call, options } = asked;
  const { context } = incoming;
  using client = followClient(deps, incoming, decision);
  const done = await inSpan('execution', {}, async () => {
    for (let attempt = 0; ; attempt += 1) {
      client.assertThere();
      try {
        const mayWait = attempt >= asksWithoutWaiting;
        return await deps.executor.execute(
          {
            permit: decision.permit,
            call,
            options,
            context,
            ...platformCallerOf(call, caller),
            mayWait,
          },
          deadlineIn(options.timeoutMs + executorExtraMs),
        );
      } catch (thrown) {
        const error = AppError.from(thrown);
        const isFull = error.details['busy'] === true;
        const pauseMs = (isFull ? pausesMs.full : pausesMs.none)[attempt];
        if (!neverArrived(error) || pauseMs === undefined) {
          const settled = settle(error, decision);
          if (settled !== error && settled.code === 'outcome_unknown') {
            const { auditId } = decision;
            await recordUnanswered(deps, { caller, context, summary: decision, auditId });
          }
          throw settled;
        }
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  });
  if (done.kind === 'called') {
    const { result, auditId } = done;
    return { kind: 'called', result, auditId, description: decision.description };
  }
  // The idempotency key belongs to a suspended call: its approval's present state is the answer.
  const state = await deps.approvals.resume(
    { principal: caller.principal, id: done.approvalId, context },
    deadlineIn(resumeMsMax),
  );
  return awaitDecision(deps, incoming, state);
}

/** Ends a read whose client has gone. What may have effects goes on, and ends with its outcome. */
function followClient(
  { announceDisconnect }: CallDeps,
  { signal }: IncomingCall,
  decision: Permitted,
) {
  const gone = decision.nonRead ? undefined : signal();
  const tell = () => announceDisconnect(decision.auditId);
  gone?.addEventListener('abort', tell);
  return {
    assertThere() {
      if (gone?.aborted !== true) return;
      throw new AppError('unavailable', 'The client has gone, so nothing was sent.');
    },
    [Symbol.dispose]: () => gone?.removeEventListener('abort', tell),
  };
}

/** The platform's own actions are done in the caller's name by the components that own them. */
function platformCallerOf({ service }: Call, { principal }: Caller): { principal?: string } {
  return service === platformKey ? { principal } : {};
}

/**
 * A full executor, one that has no room for this caller, or none: refused before any dispatch row, so
 * the same permit may be used again.
 */
function neverArrived({ code, details }: AppError): boolean {
  if (details['component'] !== 'executor') return false;
  return code === 'rate_limited' || (code === 'unavailable' && details['lost'] !== true);
}

const declaredErrors: ReadonlySet<ErrorCode> = new Set(executorContract.endpoints.execute.errors);

/**
 * Once a non-read may have left, no answer may look like a safe retry: a lost answer, or an error
 * that the executor does not declare, is `outcome_unknown`
 * (docs/reference/errors.md#outcome-unknown).
 */
function settle(error: AppError, decision: Permitted): AppError {
  const isLost = error.code === 'unavailable' && error.details['lost'] === true;
  if (decision.nonRead && (isLost || !declaredErrors.has(error.code))) {
    return new AppError(
      'outcome_unknown',
      'The call may have been made, but its answer was lost. Do not repeat it; look at what it should have changed.',
      { details: { audit_id: decision.auditId }, cause: error },
    );
  }
  if (isLost) {
    return new AppError(
      'unavailable',
      'The answer was lost on its way. This was a read, so it is safe to try again.',
      { cause: error },
    );
  }
  return error;
}

export type CallState = Awaited<
  ReturnType<CallDeps['approvals']['resume'] | CallDeps['approvals']['raise']>
>;
