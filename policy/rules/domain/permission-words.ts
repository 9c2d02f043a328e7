import { anyMethod, anyName, hasWildcard, isAnyArgument } from '#permission-key';
import type { TemplateReference } from '#contracts/call';
import type { CompiledAction, DescriptionPart } from '#contracts/template';
import { platformKey } from '#contracts/platform';
import type { IdentityKind, Risk } from '#contracts/vocabulary';
import { scopeOf, visibleLine } from '#templates';
import type { KeyPosition } from '../../calls/domain/key-position.ts';
import {
  cutSentence,
  cutValue,
  lowerFirst,
  nameOfParam,
  nameWords,
  quote,
  toMinute,
  valueWords,
} from './sentence-parts.ts';

/** The parts of a template's action that sentences about permissions use. */
export interface ActionWords {
  readonly description: readonly DescriptionPart[];
  /**
   * Whether the template is built in. Only the text of built-in templates becomes part of the
   * gateway's sentences.
   */
  readonly isBuiltIn: boolean;
  readonly positions: readonly PositionWords[];
}

interface PositionWords extends KeyPosition {
  /** The parameter whose whole value is the position, if there is such a parameter. */
  readonly param?: string;
}

export function actionWordsOf(
  action: CompiledAction,
  { tier, key }: Pick<TemplateReference, 'tier' | 'key'>,
): ActionWords {
  return {
    description: action.description,
    isBuiltIn: tier === 'global' && key !== platformKey,
    positions: scopeOf(action).map(({ label, as, sources }) => {
      const [source, ...others] = sources;
      const isWhole = source !== undefined && others.length === 0 && source.steps.length === 0;
      return { label, as, ...(isWhole ? { param: source.param.name } : {}) };
    }),
  };
}

/**
 * The pattern of a rule, with what is known about the service and action that the pattern names.
 */
export interface DescribedPattern {
  readonly service: string;
  readonly action: string;
  readonly arg: string;
  readonly exact: boolean;
  readonly serviceWords?: string | undefined;
  readonly actionWords?: ActionWords | undefined;
  /** Only of deny rules. */
  readonly riskAtLeast?: Risk | null;
}

/** Who the permission is for. Null stands for the whole org. */
export type Holder = { readonly kind: IdentityKind; readonly name: string } | null;

/** A rule as a sentence for people (docs/reference/permissions.md#rules-in-words). */
export function describeRule(
  pattern: DescribedPattern,
  {
    effect,
    holder,
    orgName,
    expiresAt,
  }: {
    effect: 'allow' | 'deny';
    holder: Holder;
    orgName: string | undefined;
    expiresAt: string | null;
  },
): string {
  const until = expiresAt === null ? '' : ` until ${toMinute(expiresAt)}`;
  const subject = subjectOf(effect, holder, orgName);
  return cutSentence(`${subject} ${describePermission(pattern)}${until}`);
}

/** One sentence that describes a suggested rule with all its keys. */
export function describeGrant(patterns: readonly DescribedPattern[], holder: Holder): string {
  const phrases = [...new Set(patterns.map(describePermission))];
  return cutSentence(`${subjectOf('allow', holder, undefined)} ${phrases.join(', and ')}`);
}

function subjectOf(effect: 'allow' | 'deny', holder: Holder, orgName: string | undefined): string {
  if (holder === null) {
    const org = orgName === undefined ? 'the org' : nameWords(orgName);
    return effect === 'allow' ? `Every agent in ${org} may` : `Nobody in ${org} may`;
  }
  const name = nameWords(holder.name);
  if (holder.kind === 'user')
    return effect === 'allow' ? `Every agent of ${name} may` : `No agent of ${name} may`;
  return effect === 'allow' ? `${name} may` : `${name} may not`;
}

/** What a pattern permits, as a verb phrase: `create issue "…" in repository acme/site with GitHub`. */
function describePermission(pattern: DescribedPattern): string {
  const { service, action } = pattern;
  const risk = riskWords(pattern);
  if (service === 'http') return describeRequests(pattern) + risk;
  if (service === 'secret') return describeCredential('secret', pattern) + risk;
  if (service === 'connection') return describeCredential('account', pattern) + risk;
  const withService = ` with ${serviceWordsOf(pattern)}`;
  if (action !== anyName || pattern.exact) return describeAction(pattern) + withService + risk;
  const what = {
    read: 'do anything',
    write: 'change anything',
    delete: 'do anything of high risk',
  };
  const restriction = isAnyArgument(pattern.arg) ? '' : ` for ${argumentWords(pattern)}`;
  return what[pattern.riskAtLeast ?? 'read'] + restriction + withService;
}

function riskWords({ riskAtLeast }: DescribedPattern): string {
  if (riskAtLeast === 'write') return ', when that changes anything';
  return riskAtLeast === 'delete' ? ', when that is of high risk' : '';
}

function serviceWordsOf({ service, exact, serviceWords }: DescribedPattern): string {
  if (service === anyName && !exact) return 'any service';
  if (service === platformKey) return 'the gateway itself';
  return serviceWords ?? valueWords(service);
}

function describeAction(pattern: DescribedPattern): string {
  const { action, actionWords } = pattern;
  const values = positionValuesOf(pattern);
  const inPlace = new Map<string, PositionValue>();
  for (const value of actionWords?.isBuiltIn === true ? values : [])
    if (value.param !== undefined) inPlace.set(value.param, value);
  const phrase = renderPhrase(actionWords?.description ?? [], inPlace);
  const rest = values
    .filter((value) => !phrase.named.has(value.param ?? ''))
    .map((value) => value.words);
  const suffix = rest.length === 0 ? '' : ` for ${rest.join(', ')}`;
  if (phrase.text === '') return `use ${valueWords(action)}${suffix}`;
  if (actionWords?.isBuiltIn === true) return lowerFirst(phrase.text) + suffix;
  return `use ${quote(cutValue(phrase.text))}${suffix}`;
}

interface PositionValue {
  readonly words: string;
  readonly label: string | undefined;
  readonly isAny: boolean;
  readonly param: string | undefined;
}

/**
 * The values of the argument's positions in words. Empty for an action whose keys have no argument.
 */
function positionValuesOf(pattern: DescribedPattern): PositionValue[] {
  const { arg, exact, actionWords } = pattern;
  const positions = actionWords?.positions ?? [];
  const isAny = isAnyArgument(arg);
  if (positions.length === 0) {
    if (isAny) return [];
    return [{ words: argumentWords(pattern), label: undefined, isAny: false, param: undefined }];
  }
  const parts = positions.length > 1 ? arg.split('/') : [arg];
  // A pattern such as `**/Bug` cannot be read position by position.
  const isReadable = isAny || parts.length === positions.length;
  if (!isReadable)
    return [{ words: argumentWords(pattern), label: undefined, isAny: false, param: undefined }];
  return positions.map(({ label, as, param }, index) => {
    const name = label ?? (param === undefined ? undefined : nameOfParam(param));
    const text = isAny ? anyName : (parts[index] ?? anyName);
    const words = positionWords(text, { name, label, as, exact });
    return { words, label: name, isAny: text === anyName && !exact, param };
  });
}

function positionWords(
  text: string,
  {
    name,
    label,
    as,
    exact,
  }: { name: string | undefined; label: string | null; as: KeyPosition['as']; exact: boolean },
): string {
  const anyOne = `any ${name ?? 'value'}`;
  if (text === anyName) return exact ? `no named ${name ?? 'value'}` : anyOne;
  if (!exact && hasWildcard(text)) {
    const domain = /^\*{1,2}@([^*]+)$/.exec(text)?.[1];
    return as === 'email' && domain !== undefined
      ? `any ${name ?? 'address'} at ${valueWords(domain)}`
      : `${anyOne} like ${valueWords(text)}`;
  }
  return label === null ? valueWords(text) : `${label} ${valueWords(text)}`;
}

function argumentWords({ arg, exact }: DescribedPattern): string {
  return !exact && hasWildcard(arg) ? `values like ${valueWords(arg)}` : valueWords(arg);
}

/**
 * The description of an action without the values of one call. Parameters that are a position of
 * the key show that position; every other parameter shows `…`.
 */
function renderPhrase(
  parts: readonly DescriptionPart[],
  values: ReadonlyMap<string, PositionValue>,
): { text: string; named: ReadonlySet<string> } {
  const named = new Set<string>();
  let text = '';
  const add = (part: Exclude<DescriptionPart, { optional: unknown }>) => {
    if ('text' in part) {
      text += visibleLine(part.text);
      return;
    }
    const value = values.get(part.param);
    if (value === undefined) {
      text += '…';
      return;
    }
    named.add(part.param);
    text = joinValue(text, value);
  };
  for (const part of parts) {
    if (!('optional' in part)) add(part);
    else if (part.optional.some((inner) => 'param' in inner && values.has(inner.param)))
      part.optional.forEach(add);
  }
  return { text: text.trim(), named };
}

/**
 * Appends a value to a text. If the text ends in the label of the value, the label is not repeated:
 * `the board` and `any board` become `any board`.
 */
function joinValue(text: string, { words, label, isAny }: PositionValue): string {
  if (label === undefined) return text + words;
  const ending = ` ${label} `;
  if (!text.toLowerCase().endsWith(ending)) return text + words;
  const before = text.slice(0, -ending.length);
  if (isAny) return `${before.replace(/ ?\b(?:the|an|a)$/i, '')} ${words}`;
  return words.startsWith(`${label} `) ? text + words.slice(label.length + 1) : text + words;
}

function describeRequests({ action, arg, exact }: DescribedPattern): string {
  const isAnyMethod = !exact && (action === anyMethod || action === anyName);
  const requests = isAnyMethod ? 'requests of any method' : `${valueWords(action)} requests`;
  const details = exact || !hasWildcard(arg) ? ' (any query, headers and body)' : '';
  return `send ${requests} to ${addressWords(arg, exact)}${details}`;
}

function addressWords(arg: string, exact: boolean): string {
  if (exact || !hasWildcard(arg)) return valueWords(arg);
  if (isAnyArgument(arg)) return 'any address';
  const host = /^([^*/]+)\/\*\*$/.exec(arg)?.[1];
  return host === undefined
    ? `addresses like ${valueWords(arg)}`
    : `anything on ${valueWords(host)}`;
}

function describeCredential(kind: string, { action, arg, exact }: DescribedPattern): string {
  const name = action === anyName && !exact ? `any ${kind}` : `the ${kind} ${valueWords(action)}`;
  return `use ${name} at ${addressWords(arg, exact)}`;
}
