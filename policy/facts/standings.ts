import { AppError } from '#errors';
import { creatorsElsewhere, switchOf } from '../domain/rules.ts';
import type { Standing, Standings } from '../domain/rules.ts';
import type { Chain, Lookups } from '../lookups/lookups.ts';

/** Rules of more agents than this, off the caller's chain, do not count. */
const creatorsElsewhereMax = 20;

/** An identity, active and with all its ancestors active, as it stands now. */
export async function loadStanding(
  lookups: Lookups,
  orgId: string,
  identityId: string,
): Promise<Standing> {
  const found = await lookups.getChain(orgId, identityId);
  if (!found.active) throw archived();
  const { chain } = found;
  const rules = await lookups.listRules(
    orgId,
    chain.map(({ id }) => id),
  );
  return { chain, rules, selfApproving: switchesOf(found) };
}

/**
 * The standing of an identity whose chain is known by id, chain and rules asked for together;
 * with those of agents elsewhere whose rules it may rest on.
 */
export async function loadStandings(
  lookups: Lookups,
  orgId: string,
  chainIds: readonly string[],
): Promise<Standings> {
  const identityId = chainIds.at(-1) ?? '';
  const [found, rules] = await Promise.all([
    lookups.getChain(orgId, identityId),
    lookups.listRules(orgId, chainIds),
  ]);
  if (!found.active) throw archived();
  const own: Standing = { chain: found.chain, rules, selfApproving: switchesOf(found) };
  return withCreatorsElsewhere(lookups, orgId, new Map([[identityId, own]]));
}

/** Adds the agents off the chain whose rules are met, and those whose rules these rest on in turn. */
export async function withCreatorsElsewhere(
  lookups: Lookups,
  orgId: string,
  standings: ReadonlyMap<string, Standing>,
): Promise<Standings> {
  const all = new Map(standings);
  const waiting = [...all.values()].flatMap(creatorsElsewhere);
  const seen = new Set<string>();
  while (waiting.length > 0 && seen.size < creatorsElsewhereMax) {
    const id = waiting.pop();
    if (id === undefined || seen.has(id) || all.has(id)) continue;
    seen.add(id);
    const standing = await findStanding(lookups, orgId, id);
    if (standing === undefined) continue;
    all.set(id, standing);
    waiting.push(...creatorsElsewhere(standing));
  }
  return all;
}

/** An agent that is gone or archived has no authority, so its rules do not count. */
async function findStanding(
  lookups: Lookups,
  orgId: string,
  identityId: string,
): Promise<Standing | undefined> {
  try {
    return await loadStanding(lookups, orgId, identityId);
  } catch (error) {
    const isGone =
      error instanceof AppError &&
      (error.code === 'identity_archived' || error.code === 'not_found');
    if (isGone) return undefined;
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

function archived(): AppError {
  return new AppError(
    'identity_archived',
    'This identity or one above it is archived, revoked or expired, or its user is an auditor. Ask its owner to restore it.',
  );
}
