/**
 * A second implementation of the permission walk. It was written only from
 * docs/reference/permissions.md#the-walk; read it next to that document. It shares no code or types
 * with the product, and is neither fast nor optimised. `model-space.testing.ts` compares the two
 * implementations.
 */
type Risk = 'read' | 'write' | 'delete';

export interface ModelIdentity {
  readonly id: string;
  /**
   * The identity directly above; null for a user. Agents are below users. Subagents are below
   * agents and subagents.
   */
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
  /** The service that the rule is limited to; null for any service. */
  readonly service: string | null;
  readonly credential: string | null;
  /**
   * For a rule made by self-approval: whether self-approval is still switched on. Null for other
   * rules.
   */
  readonly via: 'switched-on' | 'switched-off' | null;
  readonly by: ModelIdentity;
}

/** A further name of a call. Only deny rules match it. An undefined segment is unknown. */
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
  /**
   * Whether the call is an open read: its risk is read, by a safe method or a trusted template, on
   * a service with `auto_allow_reads`.
   */
  readonly isOpenRead: boolean;
}

export interface ModelSituation {
  readonly rules: readonly ModelRule[];
  readonly call: ModelCall;
}

/**
 * What covers a permission key. If neither member is set, the key is part of the permission gap.
 */
export interface ModelCover {
  readonly rules: readonly ModelRule[];
  readonly isRead: boolean;
}

/**
 * The permission walk for an agent or subagent. Returns that the call is denied, or (step 4) what
 * covers each permission key of the call, in order.
 */
export function decideByModel(
  situation: ModelSituation,
  caller: ModelIdentity,
): 'denied' | ModelCover[] {
  if (isDenied(situation, caller)) return 'denied';
  return situation.call.keys.map((key) => findCover(situation, { identity: caller, key }));
}

/**
 * "What an identity is allowed by steps 1 to 3 of the walk with itself as caller, ignoring rules
 * created by itself or its descendants." If the authority of an identity is asked for while it is
 * being computed, the answer is no. So agents whose rules only support each other have no
 * authority.
 */
export function hasAuthority(
  situation: ModelSituation,
  { identity, key, asked = [] }: AuthorityQuestion,
): boolean {
  if (identity.parent === null) return true; // a user
  if (asked.includes(identity) || isDenied(situation, identity)) return false;
  const isForeign = ({ by }: ModelRule) => !identitiesUpToUser(by).includes(identity);
  return isCovered(findCover(situation, { identity, key, asked: [...asked, identity], isForeign }));
}

export function isCovered({ rules, isRead }: ModelCover): boolean {
  return rules.length > 0 || isRead;
}

interface AuthorityQuestion {
  readonly identity: ModelIdentity;
  readonly key: Segments;
  readonly asked?: readonly ModelIdentity[];
}

/**
 * Step 1: whether a deny rule on the org or on any identity of the chain matches the call under any
 * of its names.
 */
function isDenied({ rules, call }: ModelSituation, identity: ModelIdentity): boolean {
  const keys = call.keys.map((segments) => ({ segments, risk: call.risk }));
  const chain = identitiesUpToUser(identity);
  return rules
    .filter(({ effect, on }) => effect === 'deny' && (on === 'org' || chain.includes(on)))
    .some((deny) =>
      [...keys, ...call.otherNames].some(
        ({ segments, risk }) =>
          readingsOf(segments).some((each) => matchesName(deny, each)) && concernsRisk(deny, risk),
      ),
    );
}

/** The values that a position may have. `another` stands for all values that no rule names. */
const positionValues = ['P', 'Q', 'B', 'C', 'x', 'y', 'another'];

/**
 * All names that a name with unknown positions may stand for. A `*` between slashes is an unknown
 * position. A single `*` is the key of the whole action.
 */
function readingsOf(name: OtherName['segments']): OtherName['segments'][] {
  const [service, action, arg] = name;
  if (action === undefined || arg?.includes('/') !== true) return [name];
  const texts = arg
    .split('/')
    .map((position) => (position === '*' ? positionValues : [position]))
    .reduce((all, values) => all.flatMap((text) => values.map((value) => `${text}/${value}`)));
  return texts.map((text) => [service, action, text]);
}

/** Steps 2 and 3: what covers the permission key. */
function findCover(
  situation: ModelSituation,
  {
    identity,
    key,
    asked = [],
    isForeign,
  }: AuthorityQuestion & { isForeign?: (rule: ModelRule) => boolean },
): ModelCover {
  const { rules, call } = situation;
  const reach = reachOf(identity);
  return {
    rules: rules.filter(
      (rule) =>
        rule.effect === 'allow' &&
        (rule.on === 'org' || reach.includes(rule.on)) &&
        matchesName(rule, key) &&
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

/**
 * The identities whose rules count: this identity and, as long as the last one found inherits, its
 * parent. An agent always inherits from its user.
 */
function reachOf(identity: ModelIdentity): ModelIdentity[] {
  const { parent, inherits } = identity;
  if (parent === null || !(inherits || isAgent(identity))) return [identity];
  return [identity, ...reachOf(parent)];
}

function isAgent({ parent }: ModelIdentity): boolean {
  return parent !== null && parent.parent === null;
}

/** The identities from this one up to its user. */
export function identitiesUpToUser(identity: ModelIdentity): ModelIdentity[] {
  return identity.parent === null ? [identity] : [identity, ...identitiesUpToUser(identity.parent)];
}

function concernsRisk({ riskAtLeast }: ModelRule, risk: Risk): boolean {
  const riskOrder = ['read', 'write', 'delete'];
  return riskAtLeast === null || riskOrder.indexOf(risk) >= riskOrder.indexOf(riskAtLeast);
}

/** An unknown segment matches every pattern. */
function matchesName({ pattern, exact }: ModelRule, name: OtherName['segments']): boolean {
  return pattern.every((segmentPattern, index) => {
    const text = name[index];
    if (text === undefined || segmentPattern === text) return true;
    if (exact) return false;
    const isAnyVerb = index === 1 && pattern[0] === 'http' && segmentPattern === 'ANY';
    return (
      segmentPattern === '*' ||
      isAnyVerb ||
      (index === 2 && wildcardRegExp(segmentPattern).test(text))
    );
  });
}

const regexByPattern = new Map<string, RegExp>();

/**
 * In the regular expression, `*` matches any characters except `/`; `**` matches any characters.
 */
function wildcardRegExp(pattern: string): RegExp {
  const knownRegex = regexByPattern.get(pattern);
  if (knownRegex !== undefined) return knownRegex;
  const parts = pattern.split(/(\*+)/).map((part) => {
    if (!part.startsWith('*')) return RegExp.escape(part);
    return part === '*' ? '[^/]*' : '.*';
  });
  const regex = new RegExp(`^${parts.join('')}$`, 's');
  regexByPattern.set(pattern, regex);
  return regex;
}
