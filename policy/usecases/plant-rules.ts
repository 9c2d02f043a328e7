import type { Deadline } from '#bus';
import type { Rule } from '#contracts/http/rules';
import type { ChainLink } from '#contracts/vocabulary';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { credentialOf, mayStillDecide, patternsOf, serviceOf } from '../domain/decisions.ts';
import { referenceOf, ruleEvent } from '../domain/rule-events.ts';
import type { Actor } from '../domain/rule-events.ts';
import { stale } from '../facts/stale.ts';
import { insertRule, listPlantedIds } from '../repository/rules.ts';
import { checkAuthority } from './check-authority.ts';
import { readDecision } from './read-decision.ts';
import type { Decided } from './read-decision.ts';

/** A gap and the decision on it, each as signed. */
export interface Planting {
  readonly gap: string;
  readonly decision: string;
}

/**
 * The rules of a decision that is to be remembered, once each however often this is called: the
 * approval's resolution calls it, and its event does again. One that was deleted stays deleted.
 */
export async function plantRules(
  deps: Deps,
  planting: Planting,
  deadline: Deadline,
): Promise<{ ruleIds: string[] }> {
  const decided = readDecision(deps, { ...planting, cascade: null }, { toPlant: true });
  const { gap, decision, approvalId } = decided;
  const { orgId, placement } = gap;
  const expiresAt = await endOf(deps, decided, planting.gap);
  const isSelf = decision.as === 'self';
  // By self-approval it is the user's word, given ahead by the switch.
  const createdBy = isSelf ? gap.userId : decision.deciderId;
  const [{ chain }, creator] = await Promise.all([
    deps.auth.getChain({ orgId, identityId: placement.id }, deadline),
    deps.auth.getChain({ orgId, identityId: createdBy }, deadline),
  ]);
  if (!isSelf && !mayStillDecide(gap, decision, creator)) {
    throw stale('resolver', 'Who allowed the call may not do so any more.');
  }
  const creatorChain = creator.chain;
  // In one order everywhere: two plantings of the same approval then wait for, and never on, each other.
  const patterns = patternsOf(gap, decision).toSorted((left, right) =>
    left.text < right.text ? -1 : 1,
  );
  const planted = await deps.db.transaction(async (tx) => {
    const inserted: Rule[] = [];
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
      inserted.push(rule);
      const actor = actorOn(chain, creatorChain);
      await appendEvent(tx, ruleEvent('rule.created', rule, { actor, chain }));
    }
    return inserted;
  });
  if (planted.length > 0) {
    deps.lookups.drop('rules');
    deps.logger.info({ approvalId, ruleIds: planted.map(({ id }) => id) }, 'rules planted');
  }
  const texts = patterns.map(({ text }) => text);
  return { ruleIds: await listPlantedIds(deps.db, { orgId, approvalId, patterns: texts }) };
}

/**
 * When the rules end: as decided, and no later than the authority of an agent that decided, which
 * has to cover all that it remembers.
 */
async function endOf(
  deps: Deps,
  { gap, decision }: Decided,
  signedGap: string,
): Promise<string | null> {
  const { orgId } = gap;
  const { deciderId: identityId, deciderKind, expiresAt } = decision;
  if (deciderKind === 'user' || decision.as === 'self') return isoOf(expiresAt);
  const keys = [...new Set([...gap.uncoveredKeys, ...decision.patterns])];
  const authority = await checkAuthority(deps, { orgId, identityId, gap: signedGap, keys });
  if (!authority.covers) {
    throw stale('resolver', 'The agent that allowed the call may not do all of it itself.');
  }
  return isoOf(Math.min(expiresAt ?? Infinity, authority.untilMs ?? Infinity));
}

function isoOf(atMs: number | null): string | null {
  return atMs === null || atMs === Infinity ? null : new Date(atMs).toISOString();
}

/** Whoever allowed it acted; it is recorded against the user whose chain it is. */
function actorOn(chain: readonly ChainLink[], creatorChain: readonly ChainLink[]): Actor {
  return {
    userId: chain[0]?.id ?? '',
    identity: referenceOf(creatorChain),
    credential: null,
    context: undefined,
  };
}
