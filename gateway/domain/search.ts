/** What is searched: text with how much it says about what an item is. */
export interface Searchable<Item> {
  readonly item: Item;
  readonly fields: readonly { readonly text: string; readonly weight: number }[];
}

export interface Found<Item> {
  readonly item: Item;
  /** 0 to 1: how much of the query matched, and where. */
  readonly score: number;
}

/** Different words for the same thing to do. */
const synonyms: readonly (readonly string[])[] = [
  ['create', 'add', 'new', 'make', 'open', 'insert', 'post'],
  ['get', 'read', 'show', 'fetch', 'find', 'view', 'retrieve'],
  ['list', 'search', 'all', 'query'],
  ['update', 'edit', 'change', 'modify', 'set', 'patch'],
  ['delete', 'remove', 'destroy', 'drop'],
  ['send', 'post', 'write', 'message'],
];

const exactScore = 1;
const prefixScore = 0.7;
const synonymScore = 0.5;
const prefixCharactersMin = 2;

/**
 * The items that hold the words of a query, exactly, by their beginning or by a synonym; best
 * first, equal ones in the order given.
 */
export function search<Item>(items: readonly Searchable<Item>[], query: string): Found<Item>[] {
  const asked = [...new Set(wordsOf(query))];
  if (asked.length === 0) return [];
  return items
    .map(({ item, fields }) => {
      const held = fields.map(({ text, weight }) => ({ words: wordsOf(text), weight }));
      const scores = asked.map((word) =>
        Math.max(0, ...held.map(({ words, weight }) => weight * matchOf(word, words))),
      );
      const sum = scores.reduce((total, each) => total + each, 0);
      return { item, score: Math.round((sum / asked.length) * 100) / 100 };
    })
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score);
}

function matchOf(asked: string, words: readonly string[]): number {
  if (words.some((word) => word === asked || singular(word) === singular(asked))) return exactScore;
  if (asked.length >= prefixCharactersMin && words.some((word) => word.startsWith(asked))) {
    return prefixScore;
  }
  const same = synonyms.filter((group) => group.includes(asked)).flat();
  return words.some((word) => same.includes(word)) ? synonymScore : 0;
}

function singular(word: string): string {
  return word.length > 3 && word.endsWith('s') ? word.slice(0, -1) : word;
}

/** `create_issue`, `createIssue` and `Create an issue` hold the same words. */
function wordsOf(text: string): string[] {
  return (
    text
      .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}
