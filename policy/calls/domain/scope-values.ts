import type { CompiledAction } from '#contracts/template';
import type { DerivedKey } from '#contracts/permit';
import { scopeLimits } from '#contracts/scope-param';
import type { JsonValue } from '#contracts/vocabulary';
import { actionKey, keyCharactersMax, positionsKey } from '#permission-key';
import { canonicalJson } from '#signing';
import { decodePercents, readMailAddress, scopeOf } from '#templates';
import type { ScopeOfKey, ScopeStep } from '#templates';
import { toArgumentText } from './action-params.ts';
import type { Params } from './action-params.ts';
import { invalidParamError } from './invalid-params.ts';

/** The values of one position. */
interface PositionValues {
  readonly position: ScopeOfKey;
  /**
   * Each distinct value as the permission key contains it. Contains undefined when an expected
   * value is missing.
   */
  readonly texts: ReadonlySet<string | undefined>;
}

/**
 * The permission keys of an action call (docs/reference/permissions.md#keys). Throws
 * `invalid_params` for values that could be read in two ways, or that make a key too long.
 */
export function keysOfCall(
  service: string,
  action: CompiledAction,
  params: Params,
): readonly DerivedKey[] {
  const positions = scopeOf(action).map((position) => positionValuesOf(position, params));
  const [first] = positions;
  if (first === undefined) return [actionKey(service, action.key)];
  const keys = keysOf(service, action.key, positions);
  if (keys.some(({ key }) => key.length > keyCharactersMax)) throw keyTooLongError(first);
  return keys;
}

function keysOf(
  service: string,
  action: string,
  positions: readonly PositionValues[],
): DerivedKey[] {
  const listPosition = positions.find(({ position }) => position.isList);
  if (listPosition !== undefined && listPosition.texts.size > scopeLimits.values) {
    return [actionKey(service, action)];
  }
  const [onlyPosition, ...others] = positions;
  const keyOf = (listValue: string | undefined): DerivedKey => {
    const texts = positions.map((each) => (each === listPosition ? listValue : [...each.texts][0]));
    if (onlyPosition === undefined || others.length > 0) {
      return positionsKey(service, action, texts);
    }
    // A single value keeps its slashes, so that `acme/*` can match a repository. In a mail address,
    // slashes are encoded: otherwise `*@acme.example` would not match an address with a slash.
    return onlyPosition.position.as === 'email'
      ? positionsKey(service, action, texts)
      : actionKey(service, action, texts[0]);
  };
  const values =
    listPosition === undefined || listPosition.texts.size === 0
      ? [undefined]
      : [...listPosition.texts];
  return values.map(keyOf);
}

function positionValuesOf(position: ScopeOfKey, params: Params): PositionValues {
  const texts = new Set<string | undefined>();
  for (const { param, steps } of position.sources) {
    const givenValue = Object.hasOwn(params, param.name) ? params[param.name] : undefined;
    const foundValues = { values: [] as JsonValue[], hasUnknown: false };
    followPath(givenValue, { steps, path: param.name, isItem: false }, foundValues);
    for (const value of foundValues.values) {
      texts.add(positionTextOf(value, position, param.name));
    }
    if (foundValues.hasUnknown) texts.add(undefined);
  }
  return { position, texts };
}

function positionTextOf(value: JsonValue, { as }: ScopeOfKey, name: string): string {
  const text = toArgumentText(value, canonicalJson);
  // Encoding never shortens a text and is slow for a long text, so the length is checked first.
  if (text.length > keyCharactersMax) {
    throw invalidParamError(name, 'is too long to be part of a permission key');
  }
  if (as === 'lower') return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
  if (as !== 'email') return text;
  const mailAddress = readMailAddress(text);
  if (mailAddress !== undefined) return mailAddress.address.toLowerCase();
  throw invalidParamError(
    name,
    'must be one mail address for each value, such as ann@example.com, in ASCII; give several as several values, not separated by commas',
  );
}

interface ScopePath {
  readonly steps: readonly ScopeStep[];
  readonly path: string;
  /** Whether the value is an item of a list, or inside such an item. */
  readonly isItem: boolean;
}

/**
 * Collects the values to which `steps` lead. Sets `hasUnknown` when an item of a list lacks the
 * value, or when a value along the path has another structure.
 */
function followPath(
  value: JsonValue | undefined,
  { steps, path, isItem }: ScopePath,
  foundValues: { values: JsonValue[]; hasUnknown: boolean },
): void {
  const [step, ...rest] = steps;
  if (value === undefined || value === null) {
    if (isItem && step !== null) foundValues.hasUnknown = true;
    return;
  }
  if (step === undefined) {
    foundValues.values.push(value);
  } else if (step === null) {
    if (!Array.isArray(value)) foundValues.hasUnknown = true;
    else
      for (const each of value) followPath(each, { steps: rest, path, isItem: true }, foundValues);
  } else if (typeof value !== 'object' || Array.isArray(value)) {
    foundValues.hasUnknown = true;
  } else {
    refuseOtherSpellings(value, steps, path);
    const member = Object.hasOwn(value, step) ? value[step] : undefined;
    followPath(member, { steps: rest, path: `${path}.${step}`, isItem }, foundValues);
  }
}

/**
 * Throws when the object also contains the member under another spelling, such as `Key` next to
 * `key`, or `project.key` next to `project`. Some servers would read the other member.
 */
function refuseOtherSpellings(value: object, steps: readonly ScopeStep[], path: string): void {
  const end = steps.indexOf(null);
  const names = (end < 0 ? steps : steps.slice(0, end)).filter((step) => step !== null);
  const [name = ''] = names;
  const looseSpelling = looseName(name);
  const joinedSpellings = new Set(
    names.slice(1).map((_, at) => looseName(names.slice(0, at + 2).join('.'))),
  );
  const givenNames = Object.keys(value);
  const otherSpelling = givenNames.find((each) => {
    const looseOther = looseName(each);
    return (
      each !== name &&
      (looseOther === looseSpelling || (each.includes('.') && joinedSpellings.has(looseOther)))
    );
  });
  if (otherSpelling === undefined) return;
  throw invalidParamError(
    `${path}.${otherSpelling}`.slice(0, 200),
    `is a second spelling of "${name}"; leave it out`,
  );
}

/**
 * The form of a name that lenient servers read. PHP ignores leading blanks, brackets and everything
 * after a NUL, and reads blanks and dots as `_`. Protocol buffers treat `userId` and `user_id`
 * alike. Some servers decode twice. Names are short (`MEMBER_NAME_MAX`), so this form is short too.
 */
function looseName(name: string): string {
  const [base = ''] = decodePercents(name).trimStart().split(/[[\0]/, 1);
  // Names in templates have no combining marks in a row, and normalising many marks is slow.
  const comparable = marksInARow.test(base) ? base : base.normalize('NFKC');
  return comparable.toLowerCase().replaceAll(/[\s._-]/g, '');
}

const marksInARow = /\p{M}{4}/u;

function keyTooLongError({ position }: PositionValues) {
  const name = position.sources[0]?.param.name ?? 'params';
  return invalidParamError(name, 'is too long to be part of a permission key');
}
