/**
 * The permission walk, written a second time from docs/reference/permissions.md#the-walk and from
 * nothing else: it shares neither code nor types with the product, and is neither fast nor clever.
 * Read it beside that text; `model-space.testing.ts` compares the two implementations.
 */
type Risk = 'read' | 'write' | 'delete';

export interface ModelIdentity {
  readonly id: string;
  /** Null: a user. Below a user stand its agents, below these subagents. */
  readonly parent: ModelIdentity | null;
  readonly inherits: boolean;
}

export type Segments = readonly [service: string, action: string, arg: string];

export interface ModelRule {
  readonly effect: 'allow' | 'deny';
  readonly on: ModelIdentity | 'org';
  readonly pattern: Segments;
  readonly exact: boolean;
  readonly riskAtLeast: Risk | null;
  /** What it was planted for; null: any. */
  readonly service: string | null;
  readonly credential: string | null;
  /** Made by self-approval, and how its switch stands. */
  readonly via: 'switched-on' | 'switched-off' | null;
  readonly by: ModelIdentity;
}

/** A name of a call that counts for denies only; an undefined segment is unknown. */
export interface OtherName {
  readonly segments: readonly [service: string, action?: string, arg?: string];
  readonly risk: Risk;
}

export interface ModelCall {
  readonly keys: readonly Segments[];
  readonly otherNames: readonly OtherName[];
  readonly risk: Risk;
  readonly service: string;
  readonly credentials: readonly string[];
  /** Of risk read, by a safe method or a trusted template, on a service with `auto_allow_reads`. */
  readonly isOpenRead: boolean;
}

export interface Situation {
  readonly rules: readonly ModelRule[];
  readonly call: ModelCall;
}

/** What lets a key through; with neither, the key is part of the gap. */
export interface ModelCover {
  readonly rules: readonly ModelRule[];
  readonly isRead: boolean;
}

/** The walk for an agent or subagent: denied, or what covers each key of the call, in order (4). */
export function judge(situation: Situation, caller: ModelIdentity): 'denied' | ModelCover[] {
  if (isDenied(situation, caller)) return 'denied';
  return situation.call.keys.map((key) => coverOf(situation, { identity: caller, key }));
}

/**
 * "What an identity is allowed by steps 1 to 3 of the walk with itself as caller, ignoring rules
 * created by itself or its descendants." An agent whose authority is being asked about already
 * has none to add: agents whose rules only hold each other up hold nothing.
 */
export function hasAuthority(situation: Situation, { identity, key, asked = [] }: Asked): boolean {
  if (identity.parent === null) return true; // the user
  if (asked.includes(identity) || isDenied(situation, identity)) return false;
  const isForeign = ({ by }: ModelRule) => !lineOf(by).includes(identity);
  return isCovered(coverOf(situation, { identity, key, asked: [...asked, identity], isForeign }));
}

export function isCovered({ rules, isRead }: ModelCover): boolean {
  return rules.length > 0 || isRead;
}

interface Asked {
  readonly identity: ModelIdentity;
  readonly key: Segments;
  readonly asked?: readonly ModelIdentity[];
}

/** 1. A deny on the org or any identity of the chain that matches the call by any of its names. */
function isDenied({ rules, call }: Situation, identity: ModelIdentity): boolean {
  const keys = call.keys.map((segments) => ({ segments, risk: call.risk }));
  const chain = lineOf(identity);
  return rules
    .filter(({ effect, on }) => effect === 'deny' && (on === 'org' || chain.includes(on)))
    .some((deny) =>
      [...keys, ...call.otherNames].some(
        ({ segments, risk }) => matches(deny, segments) && concernsRisk(deny, risk),
      ),
    );
}

/** 2 and 3. */
function coverOf(
  situation: Situation,
  { identity, key, asked = [], isForeign }: Asked & { isForeign?: (rule: ModelRule) => boolean },
): ModelCover {
  const { rules, call } = situation;
  const reach = reachOf(identity);
  return {
    rules: rules.filter(
      (rule) =>
        rule.effect === 'allow' &&
        (rule.on === 'org' || reach.includes(rule.on)) &&
        matches(rule, key) &&
        concernsRisk(rule, call.risk) &&
        (rule.service === null || rule.service === call.service) &&
        (rule.credential === null || call.credentials.includes(rule.credential)) &&
        rule.via !== 'switched-off' &&
        (isForeign === undefined || isForeign(rule)) &&
        hasAuthority(situation, { identity: rule.by, key, asked }),
    ),
    isRead: call.isOpenRead && reach.some(isAgent),
  };
}

/** Itself, then its parent while it inherits; an agent always reaches its user. */
function reachOf(identity: ModelIdentity): ModelIdentity[] {
  const { parent, inherits } = identity;
  if (parent === null || !(inherits || isAgent(identity))) return [identity];
  return [identity, ...reachOf(parent)];
}

function isAgent({ parent }: ModelIdentity): boolean {
  return parent !== null && parent.parent === null;
}

/** From the identity up to its user. */
export function lineOf(identity: ModelIdentity): ModelIdentity[] {
  return identity.parent === null ? [identity] : [identity, ...lineOf(identity.parent)];
}

function concernsRisk({ riskAtLeast }: ModelRule, risk: Risk): boolean {
  const order = ['read', 'write', 'delete'];
  return riskAtLeast === null || order.indexOf(risk) >= order.indexOf(riskAtLeast);
}

/** An unknown segment could be whatever the pattern asks for. */
function matches({ pattern, exact }: ModelRule, name: OtherName['segments']): boolean {
  return pattern.every((wanted, index) => {
    const text = name[index];
    if (text === undefined || wanted === text) return true;
    if (exact) return false;
    const isAnyVerb = index === 1 && pattern[0] === 'http' && wanted === 'ANY';
    return wanted === '*' || isAnyVerb || (index === 2 && wildcards(wanted).test(text));
  });
}

const compiled = new Map<string, RegExp>();

/** `*` is any run of characters but `/`, `**` any run. */
function wildcards(pattern: string): RegExp {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const parts = pattern.split(/(\*+)/).map((part) => {
    if (!part.startsWith('*')) return RegExp.escape(part);
    return part === '*' ? '[^/]*' : '.*';
  });
  const regex = new RegExp(`^${parts.join('')}$`, 's');
  compiled.set(pattern, regex);
  return regex;
}
