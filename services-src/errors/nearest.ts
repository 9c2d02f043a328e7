import { closest, distance } from 'fastest-levenshtein';

const nameCharactersMax = 128;
/** The most names that are compared, because a hint is not worth more time. */
const comparedNamesMax = 500;

/** The known name that a mistyped one probably means, if one is close enough. */
export function findNearestName(
  givenName: string,
  knownNames: readonly string[],
): string | undefined {
  if (knownNames.length === 0 || givenName.length > nameCharactersMax) return undefined;
  const distanceMax = givenName.length < 4 ? 1 : Math.max(2, Math.floor(givenName.length / 3));
  const nearNames = knownNames
    .slice(0, comparedNamesMax)
    .filter((name) => Math.abs(name.length - givenName.length) <= distanceMax);
  if (nearNames.length === 0) return undefined;
  const foldedName = fold(givenName);
  const candidate =
    nearNames.find((name) => fold(name) === foldedName) ?? closest(givenName, nearNames);
  return fold(candidate) === foldedName || distance(givenName, candidate) <= distanceMax
    ? candidate
    : undefined;
}

/**
 * The name of the known item whose name or title a mistyped text probably means. Names come first,
 * because a title may be any text.
 */
export function nearestNameOrTitle(
  givenText: string,
  known: readonly { readonly name: string; readonly title: string }[],
): string | undefined {
  const foldedText = fold(givenText);
  const isSameText = (text: string) => fold(text) === foldedText;
  const exactMatch =
    known.find(({ name }) => isSameText(name)) ?? known.find(({ title }) => isSameText(title));
  if (exactMatch !== undefined && foldedText !== '') return exactMatch.name;
  const lowerCaseText = givenText.toLowerCase();
  const nearName = findNearestName(
    lowerCaseText,
    known.map(({ name }) => name),
  );
  if (nearName !== undefined) return nearName;
  const titles = known.map(({ title }) => title.toLowerCase());
  const nearTitle = findNearestName(lowerCaseText, titles);
  return nearTitle === undefined ? undefined : known[titles.indexOf(nearTitle)]?.name;
}

/**
 * Letter case and the separators of words make no difference: `Google Calendar`, `google_calendar`.
 */
function fold(text: string): string {
  return text.toLowerCase().replaceAll(/[\s._-]+/g, '');
}
