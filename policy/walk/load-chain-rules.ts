import { AppError } from '#errors';
import type { Chain, Lookups } from '../deps.ts';
import { creatorsElsewhereOf, switchOf } from './domain/chain-rules.ts';
import type { ChainRules, RulesByIdentity } from './domain/chain-rules.ts';

/** The most agents outside the caller's chain whose rules on the chain count. */
const creatorsElsewhereMax = 20;

/**
 * Loads the current chain and rules of an identity. Throws unless the identity and all its
 * ancestors are active.
 */
export async function loadChainRules(
  lookups: Lookups,
  orgId: string,
  identityId: string,
): Promise<ChainRules> {
  const foundChain = await lookups.getChain(orgId, identityId);
  if (!foundChain.active) throw archivedError();
  const { chain } = foundChain;
  const rules = await lookups.listRules(
    orgId,
    chain.map(({ id }) => id),
  );
  return { chain, rules, selfApproving: switchesOf(foundChain) };
}

/**
 * Loads, in parallel, the chain and the rules of an identity whose chain ids are known. Then loads
 * the chain rules of agents that made rules on the chain without being on it.
 */
export async function loadRulesByIdentity(
  lookups: Lookups,
  orgId: string,
  chainIds: readonly string[],
): Promise<RulesByIdentity> {
  const identityId = chainIds.at(-1) ?? '';
  const [found, rules] = await Promise.all([
    lookups.getChain(orgId, identityId),
    lookups.listRules(orgId, chainIds),
  ]);
  if (!found.active) throw archivedError();
  const ownRules: ChainRules = { chain: found.chain, rules, selfApproving: switchesOf(found) };
  return withCreatorsElsewhere(lookups, orgId, new Map([[identityId, ownRules]]));
}

/**
 * Adds the chain rules of agents that made rules on a chain without being on it. Repeats this for
 * the chains of these agents.
 */
export async function withCreatorsElsewhere(
  lookups: Lookups,
  orgId: string,
  rulesByIdentity: ReadonlyMap<string, ChainRules>,
): Promise<RulesByIdentity> {
  const allChainRules = new Map(rulesByIdentity);
  const pendingChains = [...allChainRules.values()].flatMap(creatorsElsewhereOf);
  const seenIds = new Set<string>();
  while (pendingChains.length > 0 && seenIds.size < creatorsElsewhereMax) {
    const id = pendingChains.pop();
    if (id === undefined || seenIds.has(id) || allChainRules.has(id)) continue;
    seenIds.add(id);
    const chainRules = await findChainRules(lookups, orgId, id);
    if (chainRules === undefined) continue;
    allChainRules.set(id, chainRules);
    pendingChains.push(...creatorsElsewhereOf(chainRules));
  }
  return allChainRules;
}

/**
 * Undefined for an agent that no longer exists or is archived: it has no authority, so its rules do
 * not count.
 */
async function findChainRules(
  lookups: Lookups,
  orgId: string,
  identityId: string,
): Promise<ChainRules | undefined> {
  try {
    return await loadChainRules(lookups, orgId, identityId);
  } catch (error) {
    const isGoneError =
      error instanceof AppError &&
      (error.code === 'identity_archived' || error.code === 'not_found');
    if (isGoneError) return undefined;
    throw error;
  }
}

function switchesOf({ selfApproving }: Chain): ReadonlySet<string> {
  return new Set(
    selfApproving.flatMap(({ agentId, clientIds }) =>
      clientIds.map((clientId) => switchOf(agentId, clientId)),
    ),
  );
}

export function archivedError(): AppError {
  return new AppError(
    'identity_archived',
    'This identity or one above it is archived, revoked or expired, or its user is an auditor. Ask its owner to restore it.',
  );
}
