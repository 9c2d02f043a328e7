import type { Deadline, Handlers } from '#bus';
import type { policy } from '#contracts/bus/policy';
import type { Call, CallOptions } from '#contracts/call';
import type { Gap } from '#contracts/permit';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { digestOf } from '#signing';
import { establishFacts } from '../calls/establish-facts.ts';
import type { Deps } from '../deps.ts';
import { assessCall } from './assess-call.ts';
import { denialReason } from './domain/denial.ts';
import { explainVerdict } from './domain/explanation.ts';
import { buildPermit } from './domain/statements.ts';
import type { WalkedKey } from './domain/walk.ts';
import { loadRulesByIdentity } from './load-chain-rules.ts';
import { statePermitContent, stateGap } from './state-gap.ts';

interface ExplainRequest {
  readonly principal: string;
  readonly call: Call;
  readonly options: CallOptions;
  readonly asIdentityId: string | null;
}
type ExplainReply = Awaited<ReturnType<Handlers<typeof policy>['explain']>>;
type StatementInput = Parameters<typeof stateGap>[1];

/**
 * The dry run of a call. It decides like `decide`, but signs no permit. It signs only a permission
 * gap, with which the executor shows the request (docs/reference/permissions.md#dry-runs).
 */
export async function explainCall(
  deps: Deps,
  { principal: signed, call, options, asIdentityId }: ExplainRequest,
  deadline: Deadline,
): Promise<ExplainReply> {
  const caller = deps.readPrincipal(signed);
  if (caller.role === 'auditor') {
    throw new AppError('forbidden', 'An auditor makes no calls, not even dry runs of them.');
  }
  const callDigest = digestOf(call);
  const subject = await findSubject(deps, { caller, signed, asIdentityId }, deadline);
  const [rulesByIdentity, facts] = await Promise.all([
    loadRulesByIdentity(deps.lookups, caller.orgId, subject.chainIds),
    establishFacts(deps.lookups, subject, { call, options }),
  ]);
  const { verdict, walked } = await assessCall(deps.lookups, rulesByIdentity, {
    facts,
    caller: subject,
  });
  const chain = rulesByIdentity.get(subject.identityId)?.chain ?? [];
  const decisionInput = { subject, chain, facts, callDigest, options };

  // A denied call has no permission gap, but the executor needs a gap to show the request. So all
  // keys of the call are put into a gap.
  const keys: readonly WalkedKey[] =
    verdict.outcome === 'gap' ? verdict.keys : facts.keys.map((key) => ({ key, cover: null }));
  const isAllowed = ['allowed', 'user', 'platform'].includes(verdict.outcome);
  const gap = isAllowed
    ? null
    : await stateGap(deps, decisionInput, { rulesByIdentity, walked, keys });
  const isGap = verdict.outcome === 'gap';
  const { request } = await deps.executor.showRequest(
    { ...signForExecutor(deps, decisionInput, gap), call, isAskedAbout: isGap },
    deadline,
  );
  return {
    outcome: isAllowed ? 'allowed' : isGap ? 'would_require_approval' : 'denied',
    ...(verdict.outcome === 'denied' && { reason: denialReason(verdict.denial, chain) }),
    why: explainVerdict(verdict, facts.keys),
    permission_keys: facts.keys.map(({ key }) => key),
    uncovered_keys: isGap ? (gap?.uncoveredKeys ?? []) : [],
    grantors: isGap ? grantorsOf(gap) : [],
    risk: facts.risk,
    action_description: facts.description,
    request,
  };
}

interface ExplainSubject extends Pick<
  Principal,
  'orgId' | 'userId' | 'identityId' | 'kind' | 'credential' | 'autoCallOnApprove'
> {
  readonly chainIds: readonly string[];
}

/**
 * Finds the identity for which the call is decided: the caller or an identity below the caller. An
 * admin may choose any identity of the org.
 */
async function findSubject(
  { auth }: Deps,
  {
    caller,
    signed,
    asIdentityId,
  }: { caller: Principal; signed: string; asIdentityId: string | null },
  deadline: Deadline,
): Promise<ExplainSubject> {
  if (asIdentityId === null || asIdentityId === caller.identityId) {
    return { ...caller, chainIds: caller.chain.map(({ id }) => id) };
  }
  // auth is asked first whether the caller may see the identity, so that a hidden identity and a
  // missing one get the same answer.
  const identity = await auth.getIdentity({ principal: signed, id: asIdentityId }, deadline);
  const { chain } = await auth.getChain(
    { orgId: caller.orgId, identityId: asIdentityId },
    deadline,
  );
  const chainIds = chain.map(({ id }) => id);
  if (!chainIds.includes(caller.identityId) && caller.role !== 'admin') {
    throw new AppError('not_found', 'There is no such identity among yours.');
  }
  if (identity.role === 'auditor') {
    throw new AppError('forbidden', 'An auditor makes no calls, so there is nothing to try out.');
  }
  return {
    orgId: caller.orgId,
    userId: chainIds[0] ?? asIdentityId,
    identityId: asIdentityId,
    kind: identity.kind,
    credential: caller.credential,
    autoCallOnApprove: identity.auto_call_on_approve,
    chainIds,
  };
}

function signForExecutor(deps: Deps, decisionInput: StatementInput, gap: Gap | null) {
  if (gap !== null) return { kind: 'gap' as const, gapOrPermit: deps.gapSigner.sign(gap) };
  const permit = buildPermit(statePermitContent(decisionInput), {
    jti: deps.newId(),
    now: deps.now(),
    decision: { by: 'user', rule_id: null, approval_id: null },
    replay: null,
  });
  return { kind: 'permit' as const, gapOrPermit: deps.permitSigner.sign(permit) };
}

function grantorsOf(gap: Gap | null): ExplainReply['grantors'] {
  const steps = gap?.ladder.filter(({ covers }) => covers) ?? [];
  return steps.map(({ id, kind, name }) => ({ id, kind, name }));
}
