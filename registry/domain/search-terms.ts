/** Words of text and of identifiers: `createIssue`, `create_issue` and `Create issue` are the same two. */
export function termsOf(text: string): string[] {
  return text
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replaceAll(/(\p{Lu}+)(\p{Lu}\p{Ll})/gu, '$1 $2')
    .normalize('NFKC')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && word.length <= termCharactersMax)
    .map(singular);
}

/** A longer word is no word; it would only fill the index. */
const termCharactersMax = 40;
const queryTermsMax = 12;

/** Words that people write around what they mean. */
const fillers = new Set(
  'a an the of to in on for from with by and or my me i all please can want need how do'.split(' '),
);

/** The words that a search is about, each once; fillers count only when there is nothing else. */
export function queryTermsOf(query: string): string[] {
  const all = [...new Set(termsOf(query))];
  const meant = all.filter((term) => !fillers.has(term));
  return (meant.length === 0 ? all : meant).slice(0, queryTermsMax);
}

/** Verbs that APIs and people use for one another. */
const synonymGroups = [
  ['create', 'add', 'new', 'make', 'insert', 'register', 'post', 'open'],
  ['delete', 'remove', 'destroy', 'erase', 'drop'],
  ['list', 'get', 'find', 'read', 'show', 'fetch', 'search', 'query', 'view', 'retrieve', 'lookup'],
  ['update', 'edit', 'modify', 'change', 'patch', 'set', 'put'],
  ['send', 'deliver', 'dispatch'],
  ['start', 'run', 'trigger', 'execute'],
  ['stop', 'cancel', 'abort'],
];
const synonyms = new Map(
  synonymGroups.flatMap((group) =>
    group.map((verb) => [verb, group.filter((other) => other !== verb)] as const),
  ),
);

export function synonymsOf(term: string): readonly string[] {
  return synonyms.get(term) ?? [];
}

/** Enough for `issues` to be `issue`; `status` and `address` stay what they are. */
function singular(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  if (word.length > 3 && word.endsWith('s') && !/(ss|us|is)$/.test(word)) return word.slice(0, -1);
  return word;
}
