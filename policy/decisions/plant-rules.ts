import type { Deadline } from '#bus';
import type { Rule } from '#contracts/http/rules';
import type { ChainLink } from '#contracts/vocabulary';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { referenceOf, ruleEvent } from '../rules/domain/rule-events.ts';
import type { Actor } from '../rules/domain/rule-events.ts';
import { insertRule, listPlantedIds } from '../rules/rule.sql.ts';
import { checkAuthority } from '../walk/check-authority.ts';
import { credentialOf, mayStillDecide, patternsOf, serviceOf } from './domain/decision.ts';
import { readDecision } from './read-decision.ts';
import type { VerifiedDecision } from './read-decision.ts';
import { staleApprovalError } from './stale.ts';

/** A signed permission gap, and the signed decision on it. */
export interface Planting {
  readonly gap: string;
  readonly decision: string;
}

/**
 * Creates the rules of a decision to remember. Approvals requests this directly and by an event.
 * However often it is requested, each rule is created once. Deleted rules stay deleted.
 */
export async function plantRules(
  deps: Deps,
  planting: Planting,
  deadline: Deadline,
): Promise<{ ruleIds: string[] }> {
  const verifiedDecision = readDecision(deps, { ...planting, cascade: null }, { toPlant: true });
  const { gap, decision, approvalId } = verifiedDecision;
  const { orgId, placement } = gap;
  const expiresAt = await findRuleEnd(deps, verifiedDecision, planting.gap);
  const isSelf = decision.as === 'self';
  // A rule that an agent made by self-approval counts as its user's rule, because the user
  // consented by switching self-approval on.
  const createdBy = isSelf ? gap.userId : decision.deciderId;
  const [{ chain }, creator] = await Promise.all([
    deps.auth.getChain({ orgId, identityId: placement.id }, deadline),
    deps.auth.getChain({ orgId, identityId: createdBy }, deadline),
  ]);
  if (!isSelf && !mayStillDecide(gap, decision, creator)) {
    throw staleApprovalError('resolver', 'Who allowed the call may not do so any more.');
  }
  const creatorChain = creator.chain;
  // The rules are inserted in a fixed order, so that two transactions that create the rules of the
  // same approval cannot deadlock.
  const patterns = patternsOf(gap, decision).toSorted((left, right) =>
    left.text < right.text ? -1 : 1,
  );
  const plantedRules = await deps.db.transaction(async (tx) => {
    const insertedRules: Rule[] = [];
    for (const { text: pattern, exact } of patterns) {
      const rule = await insertRule(tx, {
        id: deps.newId(),
        orgId,
        approvalId,
        pattern,
        exact,
        createdBy,
        expiresAt,
        identityId: placement.id,
        ownerId: chain[0]?.id ?? null,
        effect: 'allow',
        serviceId: serviceOf(gap),
        credentialId: credentialOf(gap),
        riskAtLeast: null,
        viaClientId: isSelf ? decision.clientId : null,
        creatorChain: creatorChain.map(({ id }) => id),
        madeByAdmin: creatorChain[0]?.id !== chain[0]?.id,
      });
      if (rule === undefined) continue;
      insertedRules.push(rule);
      const actor = auditActorOf(chain, creatorChain);
      await appendEvent(tx, ruleEvent('rule.created', rule, { actor, chain }));
    }
    return insertedRules;
  });
  if (plantedRules.length > 0) {
    deps.lookups.drop('rules');
    deps.logger.info({ approvalId, ruleIds: plantedRules.map(({ id }) => id) }, 'rules planted');
  }
  const texts = patterns.map(({ text }) => text);
  return { ruleIds: await listPlantedIds(deps.db, { orgId, approvalId, patterns: texts }) };
}

/**
 * When the rules expire: as the decision says, but not later than the authority of the agent that
 * decided. Throws unless that authority covers every remembered pattern.
 */
async function findRuleEnd(
  deps: Deps,
  { gap, decision }: VerifiedDecision,
  signedGap: string,
): Promise<string | null> {
  const { orgId } = gap;
  const { deciderId: identityId, deciderKind, expiresAt } = decision;
  if (deciderKind === 'user' || decision.as === 'self') return toIsoTime(expiresAt);
  const keys = [...new Set([...gap.uncoveredKeys, ...decision.patterns])];
  const authority = await checkAuthority(deps, { orgId, identityId, gap: signedGap, keys });
  if (!authority.covers) {
    throw staleApprovalError(
      'resolver',
      'The agent that allowed the call may not do all of it itself.',
    );
  }
  return toIsoTime(Math.min(expiresAt ?? Infinity, authority.untilMs ?? Infinity));
}

function toIsoTime(atMs: number | null): string | null {
  return atMs === null || atMs === Infinity ? null : new Date(atMs).toISOString();
}

/**
 * The decider as the actor of the audit entry. The entry belongs to the user at the top of the
 * chain.
 */
function auditActorOf(chain: readonly ChainLink[], creatorChain: readonly ChainLink[]): Actor {
  return {
    userId: chain[0]?.id ?? '',
    identity: referenceOf(creatorChain),
    credential: null,
    context: undefined,
  };
}
