import type { CallOptions } from '#contracts/call';
import type { Gap, Permit } from '#contracts/permit';
import type { ChainLink, Principal } from '#contracts/vocabulary';
import type { CallFacts } from '../calls/call-facts.ts';
import { couldDeny, hostOf, createServiceTest } from '../denials/domain/deny-patterns.ts';
import { namesOnHost, rememberRequest } from '../denials/other-names.ts';
import type { Deps } from '../deps.ts';
import { actionWordsOf } from '../rules/domain/permission-words.ts';
import { inheritsReads } from './domain/authority.ts';
import type { ChainRules, RulesByIdentity } from './domain/chain-rules.ts';
import type { WalkedCall } from './domain/denial.ts';
import { appliesToRisk } from './domain/denial.ts';
import { buildLadder, findPlacement } from './domain/placement.ts';
import { suggestTiers } from './domain/tiers.ts';
import { coversAll } from './domain/walk.ts';
import type { WalkedKey } from './domain/walk.ts';

/**
 * The identity that a permit or permission gap is about: the caller, or the identity for which a
 * dry run decides.
 */
export type Subject = Pick<
  Principal,
  'orgId' | 'userId' | 'identityId' | 'kind' | 'credential' | 'autoCallOnApprove'
>;

interface StatementInput {
  readonly subject: Subject;
  readonly chain: readonly ChainLink[];
  readonly facts: CallFacts;
  readonly callDigest: string;
  readonly options: CallOptions;
}

/** The fields that permits and permission gaps have in common. */
export function statePermitContent({ subject, chain, facts, callDigest, options }: StatementInput) {
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

/**
 * Builds the permission gap of a call: the uncovered permission keys, the identities that could
 * allow them, and the suggested rules (tiers).
 */
export async function stateGap(
  { lookups, now, newId }: Pick<Deps, 'lookups' | 'now' | 'newId'>,
  decisionInput: StatementInput,
  {
    rulesByIdentity,
    walked,
    keys,
  }: { rulesByIdentity: RulesByIdentity; walked: WalkedCall; keys: readonly WalkedKey[] },
): Promise<Gap> {
  const { subject, chain, facts } = decisionInput;
  const uncoveredKeys = keys.filter(({ cover }) => cover === null).map(({ key }) => key);
  const placement = findPlacement(chain);
  return {
    ...statePermitContent(decisionInput),
    jti: newId(),
    uncoveredKeys: uncoveredKeys.map(({ key }) => key),
    suggestedTiers: suggestTiers(uncoveredKeys, facts.scope, {
      holder: placement,
      service: facts.serviceWords,
      action:
        facts.compiledAction && facts.target.kind === 'action'
          ? actionWordsOf(facts.compiledAction, facts.target.template)
          : undefined,
    }),
    placement: { id: placement.id, kind: placement.kind, name: placement.name },
    ladder: buildLadder(chain, (ancestor) =>
      coversAll(rulesByIdentity, ancestor, { call: walked, keys: uncoveredKeys }),
    ),
    lookUpsAllowed: await mayLookUp(
      lookups,
      decisionInput,
      rulesByIdentity.get(subject.identityId),
    ),
    autoCallOnApprove: subject.autoCallOnApprove,
    issuedAt: now(),
    otherNames: rememberRequest(facts.request),
  };
}

/**
 * Whether the executor may read names from the service to show them to people. This requires that
 * reads on the service need no rule for this identity, and that no deny rule could refuse one of
 * these reads.
 */
async function mayLookUp(
  lookups: Deps['lookups'],
  { subject, facts }: StatementInput,
  chainRules: ChainRules | undefined,
): Promise<boolean> {
  if (chainRules === undefined || !facts.allowsReads || !inheritsReads(chainRules.chain))
    return false;
  const denyRules = chainRules.rules.filter(
    (rule) => rule.effect === 'deny' && appliesToRisk(rule, 'read'),
  );
  if (denyRules.length === 0) return true;
  const namesOfHost = await namesOnHost(lookups, { owner: subject, host: facts.host });
  const ownNames = facts.ownNames();
  const serviceNames = ownNames.flatMap(({ service, needs }) => (needs ? [] : (service ?? [])));
  const isDenied = createServiceTest(denyRules.map(({ pattern }) => pattern));
  if ([...serviceNames, ...namesOfHost].some(isDenied)) return false;
  return !denyRules.some(
    ({ pattern }) =>
      hostOf(pattern)?.toLowerCase() === facts.host ||
      ownNames.some((name) => name.needs === 'credential' && couldDeny(pattern, name)),
  );
}
