import type { CallOptions } from '#contracts/call';
import type { Gap, Permit } from '#contracts/permit';
import type { ChainLink, Principal } from '#contracts/vocabulary';
import type { WalkedCall } from '../domain/denials.ts';
import { inheritsReads } from '../domain/authority.ts';
import { isAtLeastRisk } from '../domain/denials.ts';
import { couldDeny, hostOf, serviceTest } from '../domain/deny-patterns.ts';
import { buildLadder, findPlacement } from '../domain/placement.ts';
import type { Standing, Standings } from '../domain/rules.ts';
import { suggestTiers } from '../domain/tiers.ts';
import { coversAll } from '../domain/walk.ts';
import type { WalkedKey } from '../domain/walk.ts';
import type { Deps } from '../deps.ts';
import type { CallFacts } from './call-facts.ts';
import { namesOnHost, rememberOtherNames } from './other-names.ts';

/** Who a statement speaks of: the caller, or the identity a dry run is made for. */
export type Subject = Pick<
  Principal,
  'orgId' | 'userId' | 'identityId' | 'kind' | 'credential' | 'autoCallOnApprove'
>;

interface Stated {
  readonly subject: Subject;
  readonly chain: readonly ChainLink[];
  readonly facts: CallFacts;
  readonly callDigest: string;
  readonly options: CallOptions;
}

/** What permit and gap have in common. */
export function stateFacts({ subject, chain, facts, callDigest, options }: Stated) {
  return {
    orgId: subject.orgId,
    userId: subject.userId,
    identityId: subject.identityId,
    chain: [...chain],
    credential: subject.credential,
    callDigest,
    idempotencyKey: options.idempotencyKey,
    target: facts.target,
    templateDigest: facts.templateDigest,
    injections: [...facts.injections],
    hosts: [facts.host],
    keys: facts.keys.map(({ key }) => key),
    derivedKeys: [...facts.keys],
    risk: facts.risk,
    nonRead: facts.nonRead,
    description: facts.description,
  } satisfies Partial<Permit>;
}

/** The gap of a call: the uncovered keys, who could cover them, and what could be remembered. */
export async function stateGap(
  { lookups, now, newId }: Pick<Deps, 'lookups' | 'now' | 'newId'>,
  stated: Stated,
  {
    standings,
    walked,
    keys,
  }: { standings: Standings; walked: WalkedCall; keys: readonly WalkedKey[] },
): Promise<Gap> {
  const { subject, chain, facts } = stated;
  const uncovered = keys.filter(({ cover }) => cover === null).map(({ key }) => key);
  const placement = findPlacement(chain);
  const { method } = facts.request;
  return {
    ...stateFacts(stated),
    jti: newId(),
    uncoveredKeys: uncovered.map(({ key }) => key),
    suggestedTiers: suggestTiers(uncovered),
    placement: { id: placement.id, kind: placement.kind, name: placement.name },
    ladder: buildLadder(chain, (ancestor) =>
      coversAll(standings, ancestor, { call: walked, keys: uncovered }),
    ),
    lookUpsAllowed: await mayLookUp(lookups, stated, standings.get(subject.identityId)),
    autoCallOnApprove: subject.autoCallOnApprove,
    issuedAt: now(),
    otherNames: await rememberOtherNames(lookups, {
      owner: subject,
      host: facts.host,
      risk: facts.risk,
      request: facts.request,
      budget: walked.budget.names,
      method,
    }),
  };
}

/** Reads on the service need no rule of this identity's, and no deny rule could refuse one. */
async function mayLookUp(
  lookups: Deps['lookups'],
  { subject, facts }: Stated,
  standing: Standing | undefined,
): Promise<boolean> {
  if (standing === undefined || !facts.allowsReads || !inheritsReads(standing.chain)) return false;
  const denies = standing.rules.filter(
    (rule) => rule.effect === 'deny' && isAtLeastRisk(rule, 'read'),
  );
  if (denies.length === 0) return true;
  const onHost = await namesOnHost(lookups, { owner: subject, host: facts.host });
  const own = facts.ownNames();
  const names = own.flatMap(({ service, needs }) => (needs ? [] : (service ?? [])));
  const isDenied = serviceTest(denies.map(({ pattern }) => pattern));
  if ([...names, ...onHost].some(isDenied)) return false;
  return !denies.some(
    ({ pattern }) =>
      hostOf(pattern)?.toLowerCase() === facts.host ||
      own.some((name) => name.needs === 'credential' && couldDeny(pattern, name)),
  );
}
