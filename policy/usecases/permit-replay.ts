import type { Deadline, Handlers } from '#bus';
import type { policy } from '#contracts/bus/policy';
import type { Gap, Permit } from '#contracts/permit';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { findAuthority, findCover } from '../domain/authority.ts';
import { denialReason, findDenial } from '../domain/denials.ts';
import type { WalkedCall } from '../domain/denials.ts';
import type { Standings } from '../domain/rules.ts';
import { mayStillDecide } from '../domain/decisions.ts';
import { buildPermit, factsOfGap } from '../domain/statements.ts';
import { checkUnchanged } from '../facts/check-unchanged.ts';
import { recallCall } from '../facts/recall.ts';
import { stale } from '../facts/stale.ts';
import { loadStanding, loadStandings, withCreatorsElsewhere } from '../facts/standings.ts';
import { readDecision } from './read-decision.ts';
import type { Decided } from './read-decision.ts';

interface ReplayRequest {
  readonly gap: string;
  readonly decision: string;
  readonly executionId: string;
  readonly cascade: { readonly approvalId: string; readonly decidedGap: string } | null;
}
type Replayed = Awaited<ReturnType<Handlers<typeof policy>['permitReplay']>>;

/**
 * Permits the replay of an allowed call, or refuses it. An approval covers the gap and nothing else:
 * all the rest is checked again (docs/reference/approvals.md#the-frozen-call).
 */
export async function permitReplay(
  deps: Deps,
  request: ReplayRequest,
  deadline: Deadline,
): Promise<Replayed> {
  const { lookups } = deps;
  const decided = readDecision(deps, request, { toPlant: false });
  const { gap, decision, approvalId, requestDigest } = decided;
  const chainIds = gap.chain.map(({ id }) => id);
  const standings = await loadStandings(lookups, gap.orgId, chainIds);
  await checkUnchanged(lookups, gap);
  const call = await recallCall(lookups, standings, gap);
  const standing = standings.get(gap.identityId);
  const chain = standing?.chain ?? gap.chain;

  const denial = standing && findDenial(standing, call);
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
  checkCovered(standings, { gap, call });
  if (decision.as === 'self') await checkSelf(deps, decided, deadline);
  else await checkResolver(deps, decided);

  const jti = deps.newId();
  const permit: Permit = buildPermit(
    { ...factsOfGap(gap), chain: [...chain] },
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

/** The approval covers the gap; what a rule or the read allowance covered must still be covered. */
function checkCovered(standings: Standings, { gap, call }: { gap: Gap; call: WalkedCall }): void {
  for (const key of gap.derivedKeys) {
    if (gap.uncoveredKeys.includes(key.key)) continue;
    const cover = findCover({ standings, call, need: { kind: 'key', key } }, gap.identityId);
    if (cover === null) {
      throw stale('permission', `Nothing allows ${key.key} any more, and nobody was asked for it.`);
    }
  }
}

/** A user's word holds while it may decide; an agent's only while it is active and its authority covers what it allowed. */
async function checkResolver({ lookups }: Deps, { gap, decision }: Decided): Promise<void> {
  const { deciderId: resolverId } = decision;
  const resolver = await loadResolver(lookups, gap.orgId, resolverId);
  const link = resolver.chain.at(-1);
  if (link?.kind === 'user') {
    const known = await lookups.getChain(gap.orgId, resolverId);
    if (mayStillDecide(gap, decision, known)) return;
    throw stale('resolver', 'Who allowed the call is no admin any more.');
  }
  const standings = await withCreatorsElsewhere(
    lookups,
    gap.orgId,
    new Map([[resolverId, resolver]]),
  );
  const call = await recallCall(lookups, standings, gap);
  const uncovered = gap.derivedKeys.filter(({ key }) => gap.uncoveredKeys.includes(key));
  for (const key of uncovered) {
    const cover = findAuthority({ standings, call, need: { kind: 'key', key } }, resolverId);
    if (cover === null) {
      throw stale(
        'resolver',
        `The agent that allowed the call may not do ${key.key} itself any more.`,
      );
    }
  }
}

/** Asked now, not looked up: whoever turns the switch off stops what has not run yet. */
async function checkSelf(
  { auth }: Deps,
  { gap: { orgId, identityId }, decision: { clientId } }: Decided,
  deadline: Deadline,
): Promise<void> {
  const { selfApproving } = await auth.getChain({ orgId, identityId }, deadline);
  const clientIds = selfApproving.find(({ agentId }) => agentId === identityId)?.clientIds ?? [];
  if (clientId !== null && clientIds.includes(clientId)) return;
  throw stale('resolver', 'Its self-approval was switched off before the call could run.');
}

async function loadResolver(lookups: Deps['lookups'], orgId: string, resolverId: string) {
  try {
    return await loadStanding(lookups, orgId, resolverId);
  } catch (error) {
    const isGone =
      error instanceof AppError &&
      (error.code === 'identity_archived' || error.code === 'not_found');
    if (isGone) throw stale('resolver', 'Who allowed the call is archived or revoked by now.');
    throw error;
  }
}
