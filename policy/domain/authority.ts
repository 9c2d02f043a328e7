import type { DerivedKey } from '#contracts/permit';
import type { ChainLink } from '#contracts/vocabulary';
import { coversAllOf, matchesKey } from '#permission-key';
import type { Pattern } from '#permission-key';
import { creatorOf, isAgentMade, switchOf } from './rules.ts';
import type { Rule, Standing, Standings } from './rules.ts';
import { denialWithin, isAtLeastRisk } from './denials.ts';
import type { WalkedCall } from './denials.ts';

/** One key of a call, or a pattern that somebody wants to hand on: what a rule has to cover. */
export type Need =
  | { readonly kind: 'key'; readonly key: DerivedKey }
  | { readonly kind: 'pattern'; readonly pattern: Pattern };

/** What lets a key through. Null: nothing, a gap. */
export type Cover = { readonly by: 'rule'; readonly rule: Rule } | { readonly by: 'read' } | null;

interface Question {
  readonly standings: Standings;
  readonly call: WalkedCall;
  readonly need: Need;
}

/** Steps 2 and 3 of the walk for an identity as the caller; denials have been looked for before. */
export function findCover(question: Question, identityId: string): Cover {
  const standing = standingOf(question.standings, identityId);
  return standing === undefined ? null : coverOf(question, standing, trust(question));
}

/**
 * An identity's *authority* over a key or pattern: what steps 1 to 3 of the walk allow it as the
 * caller, without the rules that it or its descendants made. Not for users, whose authority has no
 * limit (docs/reference/permissions.md#authority).
 */
export function findAuthority(question: Question, identityId: string): Cover {
  const standing = standingOf(question.standings, identityId);
  if (standing === undefined) return null;
  return authorityOf(question, standing, trust(question));
}

type IsTrusted = (creatorId: string) => boolean;

function authorityOf(question: Question, standing: Standing, isTrusted: IsTrusted): Cover {
  if (isDenied(question, standing)) return null;
  const id = standing.chain.at(-1)?.id ?? '';
  const foreign = standing.rules.filter((rule) => !rule.creatorChain.includes(id));
  return coverOf(question, { ...standing, rules: foreign }, isTrusted);
}

/** Asked for each key of a call, and in each round of `findTrusted`; found once. */
const knownDenials = new WeakMap<Standings, WeakMap<WalkedCall, Map<string, boolean>>>();

/** Also where finding out takes too long. */
function isDenied({ standings, call }: Question, standing: Standing): boolean {
  const ofStandings =
    knownDenials.get(standings) ?? new WeakMap<WalkedCall, Map<string, boolean>>();
  const known = ofStandings.get(call) ?? new Map<string, boolean>();
  knownDenials.set(standings, ofStandings.set(call, known));
  const id = standing.chain.at(-1)?.id ?? '';
  const found = known.get(id) ?? denialWithin(standing, call) !== undefined;
  known.set(id, found);
  return found;
}

/** Of several rules the one that lasts longest, because what is handed on may last no longer. */
function coverOf(question: Question, standing: Standing, isTrusted: IsTrusted): Cover {
  const reach = new Set(reachOf(standing.chain));
  let best: Rule | undefined;
  for (const rule of standing.rules) {
    if (rule.identityId !== null && !reach.has(rule.identityId)) continue;
    if (!appliesTo(rule, question) || !lastsLonger(rule, best)) continue;
    if (!isSwitchedOn(rule, standing)) continue;
    if (isAgentMade(rule) && !isTrusted(creatorOf(rule))) continue;
    best = rule;
    if (rule.expiresAtMs === null) break;
  }
  if (best !== undefined) return { by: 'rule', rule: best };
  return isCoveredRead(question, standing.chain) ? { by: 'read' } : null;
}

/** A rule that a client made for itself counts only while its user lets it. */
function isSwitchedOn({ viaClientId, identityId }: Rule, { selfApproving }: Standing): boolean {
  return viaClientId === null || selfApproving.has(switchOf(identityId ?? '', viaClientId));
}

/**
 * A rule that an agent made counts only while its maker's own authority still covers the key.
 * The least set of makers that satisfies this: agents whose rules only hold each other up are
 * not in it. Worked out when the first such rule is met, which on most calls is never.
 */
function trust(question: Question): IsTrusted {
  let trusted: Set<string> | undefined;
  return (creatorId) => {
    trusted ??= findTrusted(question);
    return trusted.has(creatorId);
  };
}

function findTrusted(question: Question): Set<string> {
  const all = [...question.standings.values()].flatMap(({ rules }) => rules);
  const relevant = all.filter((rule) => isAgentMade(rule) && appliesTo(rule, question));
  const waiting = new Map(
    [...new Set(relevant.map(creatorOf))].flatMap((id) => {
      const standing = standingOf(question.standings, id);
      return standing === undefined ? [] : [[id, standing] as const];
    }),
  );
  const trusted = new Set<string>();
  let before = -1;
  while (before < trusted.size) {
    before = trusted.size;
    for (const [id, standing] of waiting) {
      if (authorityOf(question, standing, (creator) => trusted.has(creator)) === null) continue;
      trusted.add(id);
      waiting.delete(id);
    }
  }
  return trusted;
}

/** Not where finding out takes too long. */
function appliesTo(rule: Rule, { call, need }: Question): boolean {
  const { budget } = call;
  if (rule.effect !== 'allow') return false;
  budget.left -= 1;
  if (budget.left < 0) return false;
  if (rule.serviceId !== null && rule.serviceId !== call.serviceId) return false;
  if (rule.credentialId !== null && !call.credentialIds.includes(rule.credentialId)) return false;
  if (!isAtLeastRisk(rule, call.risk)) return false;
  return need.kind === 'key'
    ? matchesKey(rule.pattern, need.key, budget)
    : coversAllOf(rule.pattern, need.pattern, budget);
}

function lastsLonger(rule: Rule, best: Rule | undefined): boolean {
  if (best === undefined) return true;
  if (best.expiresAtMs === null) return false;
  return rule.expiresAtMs === null || rule.expiresAtMs > best.expiresAtMs;
}

/** Step 2: itself, then its parent while it inherits; an agent always reaches its user. */
export function reachOf(chain: readonly ChainLink[]): string[] {
  const reach: string[] = [];
  for (const link of chain.toReversed()) {
    reach.push(link.id);
    if (link.kind === 'subagent' && !link.inheritPermissions) break;
  }
  return reach;
}

/** Step 3: an agent, or a subagent that inherits unbroken from one, reads without a rule. */
export function inheritsReads(chain: readonly ChainLink[]): boolean {
  return chain.every(({ kind, inheritPermissions }) => kind !== 'subagent' || inheritPermissions);
}

function isCoveredRead({ call, need }: Question, chain: readonly ChainLink[]): boolean {
  if (!call.isOpenRead || !inheritsReads(chain)) return false;
  const [key] = call.keys;
  if (key === undefined) return false;
  if (need.kind === 'key') return need.key.key === key.key;
  // Reads are held for the called action alone: a pattern must not reach beyond it.
  const { exact, text, service, action } = need.pattern;
  return exact ? text === key.key : service === key.service && action === key.action;
}

/** The standing of an identity that was loaded, or stands on the chain of one that was. */
function standingOf(standings: Standings, identityId: string): Standing | undefined {
  const own = standings.get(identityId);
  if (own !== undefined) return own;
  for (const { chain, rules, selfApproving } of standings.values()) {
    const index = chain.findIndex(({ id }) => id === identityId);
    if (index < 0) continue;
    const above = chain.slice(0, index + 1);
    const ids = new Set(above.map(({ id }) => id));
    return {
      chain: above,
      rules: rules.filter(({ identityId }) => identityId === null || ids.has(identityId)),
      selfApproving,
    };
  }
  return undefined;
}
