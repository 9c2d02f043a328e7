import type { CompiledAction } from '#contracts/template';
import type { DerivedKey } from '#contracts/permit';
import { scopeLimits } from '#contracts/scope-param';
import type { JsonValue } from '#contracts/vocabulary';
import {
  actionKey,
  encodePosition,
  keyCharactersMax,
  positionsKey,
  unknownPosition,
  wholeAction,
} from '#permission-key';
import { canonicalJson } from '#signing';
import { readMailAddress, scopeOf } from '#templates';
import type { ScopeOfKey, ScopeStep } from '#templates';
import { areTooLong, looseName } from '../../denials/domain/member-names.ts';
import { combineArguments } from '../../denials/domain/combine-arguments.ts';
import { argumentsIn, argumentsOfKey } from '../../denials/domain/deny-values.ts';
import { toArgumentText } from './action-params.ts';
import type { Params } from './action-params.ts';
import { invalidParamError } from './invalid-params.ts';

/**
 * The scope of a call: its permission keys, and the arguments that deny rules are compared with.
 */
export interface CallScope {
  readonly keys: readonly DerivedKey[];
  /** Undefined when the call could have any argument. */
  readonly denyArguments: readonly string[] | undefined;
}

/** The values of one position. */
interface PositionValues {
  readonly position: ScopeOfKey;
  /**
   * Each distinct value as the permission key contains it. Contains undefined when a value is
   * missing where one was expected.
   */
  readonly texts: ReadonlySet<string | undefined>;
  readonly raw: readonly JsonValue[];
}

/**
 * The permission keys of an action call (docs/reference/permissions.md#keys). Throws
 * `invalid_params` for values that could be read in two ways, or that make a key too long.
 */
export function scopeOfCall(service: string, action: CompiledAction, params: Params): CallScope {
  const positions = scopeOf(action).map((position) => positionValuesOf(position, params));
  const [first] = positions;
  if (first === undefined) {
    return { keys: [actionKey(service, action.key)], denyArguments: undefined };
  }
  const keys = keysOf(service, action.key, positions);
  if (keys.some(({ key }) => key.length > keyCharactersMax)) throw keyTooLongError(first);
  return { keys, denyArguments: denyArgumentsOf(positions, keys) };
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
    // A single value keeps its slashes, so that `acme/*` can match a repository. In an address a
    // slash would keep `*@acme.example` from matching.
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

/**
 * The arguments that deny rules are compared with: each value, and every other value that servers
 * may read in its place. Undefined when the call could have any argument.
 */
function denyArgumentsOf(
  positions: readonly PositionValues[],
  keys: readonly DerivedKey[],
): readonly string[] | undefined {
  const [first, ...others] = positions;
  const [key] = keys;
  // The call has the key of the whole action when its value is absent, or when it has more values
  // than it may have keys. In both cases its arguments are unknown.
  if (first === undefined || key === undefined || key.arg === wholeAction) return undefined;
  if (others.length === 0 && !first.position.isList && first.position.as === undefined) {
    return argumentsOfKey(key.arg);
  }
  const readings = combineArguments(
    positions.map(({ position, texts, raw }) => {
      if (texts.size === 0 || texts.has(undefined)) return undefined;
      const args = argumentsIn(raw.length === 1 ? (raw[0] ?? null) : [...raw]);
      return position.as === 'email' ? args?.flatMap((each) => [each, encodePosition(each)]) : args;
    }),
  );
  return readings && [...new Set([...keys.map(({ arg }) => arg), ...readings])];
}

/**
 * The arguments of permission keys that were signed earlier, in the form in which deny rules are
 * compared with them.
 */
export function denyArgumentsOfKeys(
  keys: readonly DerivedKey[],
  positionCount: number,
): readonly string[] | undefined {
  const args = keys.map(({ arg }) => {
    if (arg === unknownPosition) return undefined;
    if (positionCount < 2) return argumentsOfKey(arg);
    const readings = arg
      .split('/')
      .map((each) => (each === unknownPosition ? undefined : argumentsOfKey(each)));
    return combineArguments(readings);
  });
  return args.some((each) => each === undefined) ? undefined : args.flatMap((each) => each ?? []);
}

function positionValuesOf(position: ScopeOfKey, params: Params): PositionValues {
  const raw: JsonValue[] = [];
  const texts = new Set<string | undefined>();
  for (const { param, steps } of position.sources) {
    const givenValue = Object.hasOwn(params, param.name) ? params[param.name] : undefined;
    const foundValues = { values: [] as JsonValue[], hasUnknown: false };
    followPath(givenValue, { steps, path: param.name, isItem: false }, foundValues);
    for (const value of foundValues.values) {
      raw.push(value);
      texts.add(positionTextOf(value, position, param.name));
    }
    if (foundValues.hasUnknown) texts.add(undefined);
  }
  return { position, texts, raw };
}

function positionTextOf(value: JsonValue, { as }: ScopeOfKey, name: string): string {
  const text = toArgumentText(value, canonicalJson);
  // Encoding never shortens a text, and takes long for a long text, so the length is checked first.
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
  /** Whether the value is an item of a list, or stands inside such an item. */
  readonly isItem: boolean;
}

/**
 * Collects the values to which `steps` lead. Sets `hasUnknown` when an item of a list lacks such a
 * value, or when the value on the way has another structure.
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
 * Throws when the object also has another spelling of the member, such as `Key` beside `key`, or
 * `project.key` beside `project`: some servers would read that other member.
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
  if (areTooLong(givenNames)) {
    throw invalidParamError(
      path.slice(0, 200),
      'has names that are too long to compare; beside a value of the permission key give names of at most 256 characters, in all 100,000',
    );
  }
  const otherSpelling = givenNames.find((each) => {
    const looseEach = looseName(each);
    return (
      each !== name &&
      (looseEach === looseSpelling || (each.includes('.') && joinedSpellings.has(looseEach)))
    );
  });
  if (otherSpelling === undefined) return;
  throw invalidParamError(
    `${path}.${otherSpelling}`.slice(0, 200),
    `is a second spelling of "${name}"; leave it out`,
  );
}

function keyTooLongError({ position }: PositionValues) {
  const name = position.sources[0]?.param.name ?? 'params';
  return invalidParamError(name, 'is too long to be part of a permission key');
}
