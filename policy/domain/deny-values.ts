import type { JsonValue } from '#contracts/vocabulary';
import { encodeArgument } from '#permission-key';
import { fold } from './folding.ts';
import { decode, partsOf, split } from './value-spellings.ts';

/** What one value may hold for deny rules to look at; one that holds more is unknown. */
const leavesMax = 100;
const charactersMax = 4096;

/**
 * The arguments that a value stands for: itself, each item of a list, each member of an object, each
 * address of a list of addresses. Undefined: too many to look at, none, or bytes that are no text.
 */
export function argumentsIn(value: JsonValue): string[] | undefined {
  const found = new Set<string>();
  const waiting: JsonValue[] = [value];
  let [left, items] = [charactersMax, leavesMax];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next !== null && typeof next === 'object') {
      const members = Array.isArray(next) ? next : Object.values(next);
      items -= members.length;
      if (items < 0) return undefined;
      waiting.push(...members);
      continue;
    }
    const text = typeof next === 'string' ? next : JSON.stringify(next);
    left -= text.length;
    if (left < 0 || text.includes('\ufffd')) return undefined;
    for (const part of partsOf(text)) found.add(encodeArgument(part));
    if (found.size > leavesMax) return undefined;
  }
  return found.size === 0 ? undefined : [...found];
}

/** What a value may mean to deny rules; nothing is known of one that the budget is not enough for. */
export interface ReadValueResult {
  readonly args: readonly string[] | undefined;
  readonly readings: readonly JsonValue[];
}
export type ReadValue = (value: JsonValue) => ReadValueResult;

const unread: ReadValueResult = { args: undefined, readings: [] };
/** Steps that a value is charged before it is looked through: a fixed part and one per character. */
const stepsPerCharacter = 20;
const stepsPerValue = 500;

/** Reads each value of a request once, however many operations have a parameter there. */
export function createValueReader(budget: { left: number }): ReadValue {
  const known = new Map<JsonValue, ReadValueResult>();
  return (value) => {
    let result = known.get(value);
    if (result !== undefined) return result;
    const length = typeof value === 'string' ? value.length : charactersMax;
    budget.left -= stepsPerValue + stepsPerCharacter * Math.min(length, charactersMax);
    if (budget.left < 0) return unread;
    const args = argumentsIn(value);
    result = args === undefined ? unread : { args, readings: readingsOf(value) };
    known.set(value, result);
    return result;
  };
}

/** The same for the argument of a derived key, whose text is all that is left of the value. */
export function argumentsOfKey(arg: string): string[] | undefined {
  const text = arg.replaceAll(/(?:%[0-9A-F]{2})+/g, decode);
  const others = argumentsIn(/^[[{]/.test(text) ? parse(text) : text);
  return others === undefined ? undefined : [...new Set([arg, ...others])];
}

/**
 * How an upstream may have meant what it is sent, most literal first: as it is, without regard to
 * case, a text of a path or query as the number or list it spells.
 */
function readingsOf(value: JsonValue): JsonValue[] {
  const items: JsonValue[] = Array.isArray(value) ? value : [value];
  const list = items.flatMap((each): JsonValue[] =>
    typeof each === 'string' ? split(each) : [each],
  );
  const literal: JsonValue[] = [value, list];
  return [
    ...literal,
    ...literal.map((each) => mapTexts(each, (text) => fold(text).bare)),
    ...literal.map((each) => mapTexts(each, asScalar)),
  ];
}

/**
 * Servers differ in whether they see a difference between `to`, `To` and `to[]`: all that are there. Undefined
 * where some take another for it too (`to[0]`, ` to`, `t_o`) and differ in which of them counts.
 */
export function membersOf(value: unknown, name: string): readonly JsonValue[] | undefined {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return [];
  const { byPlainName, plainNames } = membersByName(value as Record<string, JsonValue>);
  const wanted = plainName(name);
  const taken = plainNames.get(looseName(name));
  const isTakenByOthers = taken !== undefined && taken.size > (taken.has(wanted) ? 1 : 0);
  return isTakenByOthers ? undefined : (byPlainName.get(wanted) ?? []);
}

interface NamedMembers {
  readonly byPlainName: ReadonlyMap<string, JsonValue[]>;
  /** Plain names by the loose name that they share. */
  readonly plainNames: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Found once for each body or query, which many operations may have a parameter in. */
const knownMembers = new WeakMap<object, NamedMembers>();

function membersByName(value: Record<string, JsonValue>): NamedMembers {
  const known = knownMembers.get(value);
  if (known !== undefined) return known;
  const byPlainName = new Map<string, JsonValue[]>();
  const plainNames = new Map<string, Set<string>>();
  for (const [key, member] of Object.entries(value)) {
    const plain = plainName(key);
    const members = byPlainName.get(plain);
    if (members !== undefined) {
      members.push(member);
      continue;
    }
    byPlainName.set(plain, [member]);
    const loose = looseName(key);
    plainNames.set(loose, (plainNames.get(loose) ?? new Set()).add(plain));
  }
  const found = { byPlainName, plainNames };
  knownMembers.set(value, found);
  return found;
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/\[\]$/, '');
}

/**
 * As PHP reads names, without blanks before them, brackets or what follows a NUL, a blank or dot being `_`; as
 * JSON of protocol buffers does, to which `userId` and `user_id` are one; and decoded once more.
 */
function looseName(name: string): string {
  const plain = name.includes('%') ? name.replaceAll(/(?:%[0-9A-Fa-f]{2})+/g, decode) : name;
  const [base = ''] = plain.trimStart().split(/[[\0]/, 1);
  return base
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\s._-]/g, '');
}

function mapTexts(value: JsonValue, map: (text: string) => JsonValue): JsonValue {
  if (typeof value === 'string') return map(value);
  if (!Array.isArray(value)) return value;
  return value.map((each) => (typeof each === 'string' ? map(each) : each));
}

/** Only in the one spelling that a key has: `07` may be another thing than `7`, or the same. */
function asScalar(text: string): JsonValue {
  if (text === 'true' || text === 'false') return text === 'true';
  const number = Number(text);
  return text !== '' && Number.isFinite(number) && String(number) === text ? number : text;
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}
