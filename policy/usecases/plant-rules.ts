import type { Deadline } from '#bus';
import type { Rule } from '#contracts/http/rules';
import type { ChainLink } from '#contracts/vocabulary';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { referenceOf, ruleEvent } from '../domain/rule-events.ts';
import type { Actor } from '../domain/rule-events.ts';
import { insertRule, listPlantedIds } from '../repository/rules.ts';

export interface Planting {
  readonly orgId: string;
  readonly approvalId: string;
  readonly placementId: string;
  readonly patterns: readonly { readonly pattern: string; readonly exact: boolean }[];
  readonly serviceId: string | null;
  readonly credentialId: string | null;
  readonly createdBy: string;
  readonly viaClientId: string | null;
  readonly expiresAt: string | null;
}

/**
 * The rules of an approval that is to be remembered, once each however often this is called: the
 * approval's resolution calls it, and its event does again. One that was deleted stays deleted.
 */
export async function plantRules(
  deps: Deps,
  planting: Planting,
  deadline: Deadline,
): Promise<{ ruleIds: string[] }> {
  const { orgId, approvalId, placementId, createdBy } = planting;
  const [{ chain }, { chain: creatorChain }] = await Promise.all([
    deps.auth.getChain({ orgId, identityId: placementId }, deadline),
    deps.auth.getChain({ orgId, identityId: createdBy }, deadline),
  ]);
  const planted = await deps.db.transaction(async (tx) => {
    const inserted: Rule[] = [];
    // In one order everywhere: two plantings of the same approval then wait for, and never on, each other.
    for (const { pattern, exact } of sorted(planting.patterns)) {
      const rule = await insertRule(tx, {
        ...planting,
        id: deps.newId(),
        identityId: placementId,
        ownerId: chain[0]?.id ?? null,
        effect: 'allow',
        pattern,
        exact,
        riskAtLeast: null,
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
  const patterns = planting.patterns.map(({ pattern }) => pattern);
  return { ruleIds: await listPlantedIds(deps.db, { orgId, approvalId, patterns }) };
}

function sorted(patterns: Planting['patterns']): Planting['patterns'] {
  return patterns.toSorted((left, right) => (left.pattern < right.pattern ? -1 : 1));
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
