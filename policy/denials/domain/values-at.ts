import type { JsonValue } from '#contracts/vocabulary';
import type { ScopeStep } from '#templates';
import { membersOf } from './member-names.ts';

/** The most values in lists that are compared one by one. */
export const listedValuesMax = 100;

interface CollectedValues {
  readonly values: JsonValue[];
  /** How many places along the path were empty. */
  missing: number;
  /** How many objects have no list where the path leads into one, under any name. */
  withoutList: number;
}

/**
 * Finds the values to which the steps lead, under every spelling of the members that servers
 * accept. Empty when there is no value. Undefined when servers may differ in what they find, also
 * when servers may look in two places and only one of them has a value.
 */
export function valuesAt(
  values: readonly JsonValue[],
  steps: readonly ScopeStep[],
): readonly JsonValue[] | undefined {
  if (steps.length === 0) return values;
  const collected: CollectedValues = { values: [], missing: 0, withoutList: 0 };
  if (!values.every((value) => collectValues(value, steps, collected))) return undefined;
  return collected.values.length > 0 && collected.missing > 0 ? undefined : collected.values;
}

/**
 * Adds the values to which the steps lead to `collected`. Returns false when they cannot be known:
 * the value has another structure, or there are too many values.
 */
function collectValues(
  value: JsonValue,
  steps: readonly ScopeStep[],
  collected: CollectedValues,
): boolean {
  const [step, ...remainingSteps] = steps;
  if (collected.values.length + collected.missing + collected.withoutList >= listedValuesMax) {
    return false;
  }
  if (value === null || (Array.isArray(value) && value.length === 0)) {
    collected.missing += 1;
    return true;
  }
  if (step === undefined) {
    collected.values.push(value);
    return true;
  }
  if (Array.isArray(value)) {
    // A server may read any item of a list that stands in place of one value. An item that has no
    // value is unknown, and one that lacks a list has none, both as in permission keys.
    const stepsInItem = step === null ? remainingSteps : steps;
    return value.every((item) => {
      const countBefore = collected.values.length + collected.withoutList;
      if (step !== null && Array.isArray(item)) return false;
      if (!collectValues(item, stepsInItem, collected)) return false;
      return collected.values.length + collected.withoutList > countBefore;
    });
  }
  if (typeof value !== 'object')
    return step === null && collectValues(value, remainingSteps, collected);
  // Where a list is expected, some servers read the members of an object as the items, so the
  // values are unknown.
  return step !== null && collectMembers(value, steps, collected);
}

/**
 * Collects the values of a member and of its members. Some servers split a name such as
 * `project.key` at the dot, so it also counts as the member `key` of `project`.
 */
function collectMembers(
  value: Readonly<Record<string, JsonValue>>,
  steps: readonly ScopeStep[],
  collected: CollectedValues,
): boolean {
  let hasMember = false;
  let name = '';
  for (const [index, step] of steps.entries()) {
    if (step === null) break;
    name = index === 0 ? step : `${name}.${step}`;
    const members = membersOf(value, name);
    if (members === undefined) return false;
    if (members.length > 0) hasMember = true;
    const remainingSteps = steps.slice(index + 1);
    if (!members.every((member) => collectValues(member, remainingSteps, collected))) return false;
  }
  if (!hasMember && steps[1] === null) collected.withoutList += 1;
  else if (!hasMember) collected.missing += 1;
  return true;
}
