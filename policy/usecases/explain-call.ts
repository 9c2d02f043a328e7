import type { Deadline, Handlers } from '#bus';
import type { policy } from '#contracts/bus/policy';
import type { Call, CallOptions } from '#contracts/call';
import type { Gap } from '#contracts/permit';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { digestOf } from '#signing';
import type { Deps } from '../deps.ts';
import { buildPermit } from '../domain/statements.ts';
import type { WalkedKey } from '../domain/walk.ts';
import { assess } from '../facts/assess.ts';
import type { Assessment } from '../facts/assess.ts';
import type { CallFacts } from '../facts/call-facts.ts';
import { establishFacts } from '../facts/establish-facts.ts';
import { loadStandings } from '../facts/standings.ts';
import { stateFacts, stateGap } from '../facts/state-facts.ts';

interface ExplainRequest {
  readonly principal: string;
  readonly call: Call;
  readonly options: CallOptions;
  readonly asIdentityId: string | null;
}
type Explained = Awaited<ReturnType<Handlers<typeof policy>['explain']>>;
type Why = Explained['why'][number];
type Stated = Parameters<typeof stateGap>[1];

/**
 * The dry run: decides as `decide` would, and signs nothing but what the executor shows the request
 * by (docs/reference/permissions.md#dry-runs).
 */
export async function explainCall(
  deps: Deps,
  { principal: signed, call, options, asIdentityId }: ExplainRequest,
  deadline: Deadline,
): Promise<Explained> {
  const caller = deps.readPrincipal(signed);
  if (caller.role === 'auditor') {
    throw new AppError('forbidden', 'An auditor makes no calls, not even dry runs of them.');
  }
  const callDigest = digestOf(call);
  const subject = await findSubject(deps, { caller, signed, asIdentityId }, deadline);
  const [standings, facts] = await Promise.all([
    loadStandings(deps.lookups, caller.orgId, subject.chainIds),
    establishFacts(deps.lookups, subject, { call, options }),
  ]);
  const assessment = await assess(deps.lookups, standings, { facts, caller: subject });
  const { verdict, walked } = assessment;
  const chain = standings.get(subject.identityId)?.chain ?? [];
  const stated = { subject, chain, facts, callDigest, options };

  // A denied call has no gap of its own; the executor needs one to show the request.
  const keys: readonly WalkedKey[] =
    verdict.outcome === 'gap' ? verdict.keys : facts.keys.map((key) => ({ key, cover: null }));
  const isAllowed = ['allowed', 'user', 'platform'].includes(verdict.outcome);
  const gap = isAllowed ? null : await stateGap(deps, stated, { standings, walked, keys });
  const isGap = verdict.outcome === 'gap';
  const { request } = await deps.executor.showRequest(
    { ...signFor(deps, stated, gap), call, isAskedAbout: isGap },
    deadline,
  );
  return {
    outcome: isAllowed ? 'allowed' : isGap ? 'would_require_approval' : 'denied',
    why: explain(assessment, facts),
    permission_keys: facts.keys.map(({ key }) => key),
    uncovered_keys: isGap ? (gap?.uncoveredKeys ?? []) : [],
    grantors: isGap ? grantorsOf(gap) : [],
    risk: facts.risk,
    action_description: facts.description,
    request,
  };
}

interface Subject extends Pick<
  Principal,
  'orgId' | 'userId' | 'identityId' | 'kind' | 'credential' | 'autoCallOnApprove'
> {
  readonly chainIds: readonly string[];
}

/** The caller itself, or an identity below it; admins may ask for anybody in the org. */
async function findSubject(
  { auth }: Deps,
  {
    caller,
    signed,
    asIdentityId,
  }: { caller: Principal; signed: string; asIdentityId: string | null },
  deadline: Deadline,
): Promise<Subject> {
  if (asIdentityId === null || asIdentityId === caller.identityId) {
    return { ...caller, chainIds: caller.chain.map(({ id }) => id) };
  }
  // In this order: what may not be seen is refused in the words for what does not exist.
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

function signFor(deps: Deps, stated: Stated, gap: Gap | null) {
  if (gap !== null) return { kind: 'gap' as const, gapOrPermit: deps.gapSigner.sign(gap) };
  const permit = buildPermit(stateFacts(stated), {
    jti: deps.newId(),
    now: deps.now(),
    decision: { by: 'user', rule_id: null, approval_id: null },
    replay: null,
  });
  return { kind: 'permit' as const, gapOrPermit: deps.permitSigner.sign(permit) };
}

function explain({ verdict }: Assessment, facts: CallFacts): Why[] {
  switch (verdict.outcome) {
    case 'user':
    case 'platform': {
      const by = verdict.outcome;
      return facts.keys.map(({ key }) => ({ key, effect: 'allow', by }));
    }
    case 'denied': {
      const { rule, key } = verdict.denial;
      return [{ key, effect: 'deny', by: 'rule', rule_id: rule.id, ...ownerOf(rule) }];
    }
    case 'allowed':
    case 'gap':
      return verdict.keys.map(({ key: { key }, cover }): Why => {
        if (cover === null) return { key, effect: 'gap' };
        if (cover.by === 'read') return { key, effect: 'allow', by: 'read' };
        const { rule } = cover;
        return { key, effect: 'allow', by: 'rule', rule_id: rule.id, ...ownerOf(rule) };
      });
  }
}

function ownerOf({ identityId }: { identityId: string | null }): { identity_id?: string } {
  return identityId === null ? {} : { identity_id: identityId };
}

function grantorsOf(gap: Gap | null): Explained['grantors'] {
  const steps = gap?.ladder.filter(({ covers }) => covers) ?? [];
  return steps.map(({ id, kind, name }) => ({ id, kind, name }));
}
