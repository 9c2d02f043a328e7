import type { JsonValue } from '#contracts/vocabulary';
import { decodePercents } from './value-parts.ts';

/**
 * The members that servers may read as the member with this name, because some servers treat `to`,
 * `To` and `to[]` as one. Undefined when names such as `to[0]`, ` to` and `t_o` are present too,
 * because servers differ in which of these counts, and when names are too long to compare.
 */
export function membersOf(value: unknown, name: string): readonly JsonValue[] | undefined {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return [];
  const { byPlainName, plainNames, areNamesTooLong } = membersByName(
    value as Record<string, JsonValue>,
  );
  if (areNamesTooLong) return undefined;
  const wantedName = toPlainName(name);
  const alikeNames = plainNames.get(looseName(name));
  const isTakenByOthers =
    alikeNames !== undefined && alikeNames.size > (alikeNames.has(wantedName) ? 1 : 0);
  return isTakenByOthers ? undefined : (byPlainName.get(wantedName) ?? []);
}

/** Whether servers can read all members of the value as members with one of these names. */
export function hasOnlyMembers(
  value: Readonly<Record<string, JsonValue>> | readonly JsonValue[],
  names: readonly string[],
): boolean {
  if (Array.isArray(value)) return value.length === 0;
  const { byPlainName, areNamesTooLong } = membersByName(value as Record<string, JsonValue>);
  if (areNamesTooLong) return false;
  const declaredNames = new Set(names.map(toPlainName));
  for (const name of byPlainName.keys()) if (!declaredNames.has(name)) return false;
  return true;
}

interface NamedMembers {
  readonly byPlainName: ReadonlyMap<string, JsonValue[]>;
  /** The exact names of the members, for each name in the form that `looseName` returns. */
  readonly plainNames: ReadonlyMap<string, ReadonlySet<string>>;
  readonly areNamesTooLong: boolean;
}

/** Computed once for each body or query, because many operations may have a parameter in it. */
const membersByValue = new WeakMap<object, NamedMembers>();

function membersByName(value: Record<string, JsonValue>): NamedMembers {
  const knownResult = membersByValue.get(value);
  if (knownResult !== undefined) return knownResult;
  const byPlainName = new Map<string, JsonValue[]>();
  const plainNames = new Map<string, Set<string>>();
  const areNamesTooLong = areTooLong(Object.keys(value));
  for (const [key, member] of areNamesTooLong ? [] : Object.entries(value)) {
    const plainKey = toPlainName(key);
    const members = byPlainName.get(plainKey);
    if (members !== undefined) {
      members.push(member);
      continue;
    }
    byPlainName.set(plainKey, [member]);
    const looseSpelling = looseName(key);
    plainNames.set(looseSpelling, (plainNames.get(looseSpelling) ?? new Set()).add(plainKey));
  }
  const membersByName = { byPlainName, plainNames, areNamesTooLong };
  membersByValue.set(value, membersByName);
  return membersByName;
}

/** A name without the differences that many servers ignore: letter case, and `[]` at the end. */
export function toPlainName(name: string): string {
  return name.toLowerCase().replace(/\[\]$/, '');
}

const nameCharactersMax = 256;
const nameCostMax = 100_000;
/** The normal form of a name outside ASCII can be 18 times as long. */
const costOfOtherCharacters = 10;

/** Whether the names of an object, or one of them, are too long to compare. */
export function areTooLong(names: readonly string[]): boolean {
  let costLeft = nameCostMax;
  return names.some((name) => {
    costLeft -= name.length * (/[^\0-\x7f]|%/.test(name) ? costOfOtherCharacters : 1);
    return name.length > nameCharactersMax || costLeft < 0;
  });
}

/**
 * A name as lenient servers read it. PHP ignores leading blanks, brackets and everything after a
 * NUL, and reads blanks and dots as `_`; protocol buffers treat `userId` and `user_id` alike; some
 * servers decode twice.
 */
export function looseName(name: string): string {
  const decodedName = name.includes('%')
    ? name.replaceAll(/(?:%[0-9A-Fa-f]{2})+/g, decodePercents)
    : name;
  const [base = ''] = decodedName.trimStart().split(/[[\0]/, 1);
  return base
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\s._-]/g, '');
}
