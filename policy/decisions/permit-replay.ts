import type { Deadline, Handlers } from '#bus';
import type { policy } from '#contracts/bus/policy';
import type { Gap, Permit } from '#contracts/permit';
import { AppError } from '#errors';
import type { Chain, Deps } from '../deps.ts';
import { findAuthority, findCover } from '../walk/domain/authority.ts';
import type { RulesByIdentity } from '../walk/domain/chain-rules.ts';
import { denialReason, findDenial } from '../walk/domain/denial.ts';
import type { WalkedCall } from '../walk/domain/denial.ts';
import { buildPermit, permitContentOf } from '../walk/domain/statements.ts';
import {
  archivedError,
  loadChainRules,
  loadRulesByIdentity,
  withCreatorsElsewhere,
} from '../walk/load-chain-rules.ts';
import { recallCall } from '../walk/recall-call.ts';
import { checkUnchanged } from './check-unchanged.ts';
import { mayStillDecide } from './domain/decision.ts';
import { readDecision } from './read-decision.ts';
import type { VerifiedDecision } from './read-decision.ts';
import { staleApprovalError } from './stale.ts';

interface ReplayRequest {
  readonly gap: string;
  readonly decision: string;
  readonly executionId: string;
  readonly cascade: { readonly approvalId: string; readonly decidedGap: string } | null;
}
type ReplayAnswer = Awaited<ReturnType<Handlers<typeof policy>['permitReplay']>>;

/**
 * Permits the replay of an allowed call, or refuses it. The approval allows only the permission
 * keys that no rule covered; everything else is checked again
 * (docs/reference/approvals.md#the-frozen-call).
 */
export async function permitReplay(
  deps: Deps,
  request: ReplayRequest,
  deadline: Deadline,
): Promise<ReplayAnswer> {
  const { lookups } = deps;
  const verifiedDecision = readDecision(deps, request, { toPlant: false });
  const { gap, decision, approvalId, requestDigest } = verifiedDecision;
  const chainIds = gap.chain.map(({ id }) => id);
  const [rulesByIdentity, currentChain] = await Promise.all([
    loadRulesByIdentity(lookups, gap.orgId, chainIds),
    // The chain comes from auth and not from the cache: archiving an identity or switching
    // self-approval off must stop a call that has not run.
    deps.auth.getChain({ orgId: gap.orgId, identityId: gap.identityId }, deadline),
  ]);
  if (!currentChain.active) throw archivedError();
  await checkUnchanged(lookups, gap);
  const call = await recallCall(lookups, rulesByIdentity, gap);
  const chainRules = rulesByIdentity.get(gap.identityId);
  const chain = chainRules?.chain ?? gap.chain;

  const denial = chainRules && findDenial(chainRules, call);
  if (denial !== undefined) {
    deps.logger.info(
      {
        granted: false,
        reason: 'denied',
        permission_key: denial.key,
        approvalId,
      },
      'replay decided',
    );
    return { outcome: 'denied', reason: denialReason(denial, chain) };
  }
  checkCovered(rulesByIdentity, { gap, call });
  if (decision.as === 'self') checkSelfApproval(currentChain, verifiedDecision);
  else await checkResolver(deps, verifiedDecision);

  const jti = deps.newId();
  const permit: Permit = buildPermit(
    { ...permitContentOf(gap), chain: [...chain] },
    {
      jti,
      now: deps.now(),
      decision: { by: 'approval', rule_id: null, approval_id: approvalId },
      replay: { approvalId, requestDigest, executionId: request.executionId, gapId: gap.jti },
    },
  );
  deps.logger.debug({ granted: true, reason: 'approval', approvalId }, 'replay decided');
  return { outcome: 'permit', permit: deps.permitSigner.sign(permit), auditId: jti };
}

/**
 * Throws unless a rule or the read allowance still covers every permission key that the approval
 * does not cover.
 */
function checkCovered(
  rulesByIdentity: RulesByIdentity,
  { gap, call }: { gap: Gap; call: WalkedCall },
): void {
  for (const key of gap.derivedKeys) {
    if (gap.uncoveredKeys.includes(key.key)) continue;
    const cover = findCover({ rulesByIdentity, call, need: { kind: 'key', key } }, gap.identityId);
    if (cover === null) {
      throw staleApprovalError(
        'permission',
        `Nothing allows ${key.key} any more, and nobody was asked for it.`,
      );
    }
  }
}

/**
 * Throws unless the decider may still allow the call. A user must still be entitled to decide it.
 * An agent must be active and have authority over the permission keys.
 */
async function checkResolver(
  { lookups }: Deps,
  { gap, decision }: VerifiedDecision,
): Promise<void> {
  const { deciderId: resolverId } = decision;
  const resolver = await loadResolver(lookups, gap.orgId, resolverId);
  const link = resolver.chain.at(-1);
  if (link?.kind === 'user') {
    const resolverChain = await lookups.getChain(gap.orgId, resolverId);
    if (mayStillDecide(gap, decision, resolverChain)) return;
    throw staleApprovalError('resolver', 'Who allowed the call is no admin any more.');
  }
  const rulesByIdentity = await withCreatorsElsewhere(
    lookups,
    gap.orgId,
    new Map([[resolverId, resolver]]),
  );
  const call = await recallCall(lookups, rulesByIdentity, gap);
  const uncoveredKeys = gap.derivedKeys.filter(({ key }) => gap.uncoveredKeys.includes(key));
  for (const key of uncoveredKeys) {
    const cover = findAuthority({ rulesByIdentity, call, need: { kind: 'key', key } }, resolverId);
    if (cover === null) {
      throw staleApprovalError(
        'resolver',
        `The agent that allowed the call may not do ${key.key} itself any more.`,
      );
    }
  }
}

/** Throws unless self-approval is still switched on. */
function checkSelfApproval(
  { selfApproving }: Chain,
  { gap: { identityId }, decision: { clientId } }: VerifiedDecision,
): void {
  const clientIds = selfApproving.find(({ agentId }) => agentId === identityId)?.clientIds ?? [];
  if (clientId !== null && clientIds.includes(clientId)) return;
  throw staleApprovalError(
    'resolver',
    'Its self-approval was switched off before the call could run.',
  );
}

async function loadResolver(lookups: Deps['lookups'], orgId: string, resolverId: string) {
  try {
    return await loadChainRules(lookups, orgId, resolverId);
  } catch (error) {
    const isGone =
      error instanceof AppError &&
      (error.code === 'identity_archived' || error.code === 'not_found');
    if (isGone)
      throw staleApprovalError('resolver', 'Who allowed the call is archived or revoked by now.');
    throw error;
  }
}
