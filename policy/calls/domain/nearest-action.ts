import { nearestName } from '#errors';

/**
 * The action that a wrong name probably means: an action with a similar spelling, or one that does
 * something else with the same object, such as `create_comment` for `add_comment`.
 */
export function findNearestAction(name: string, keys: readonly string[]): string | undefined {
  const objectWords = objectWordsOf(name);
  const keysOnSameObject =
    objectWords === '' ? [] : keys.filter((key) => objectWordsOf(key) === objectWords);
  return (
    nearestName(name, keys) ??
    keysOnSameObject.find((key) => key.startsWith('create')) ??
    keysOnSameObject[0]
  );
}

/** The words of an action's name after the verb: `comment` of `add_comment`. */
function objectWordsOf(key: string): string {
  return key.split(/[_.-]/).slice(1).join(' ').toLowerCase();
}
