import type { Template } from '#contracts/http/templates';

export interface FoundTemplates {
  readonly templates: readonly Template[];
  /** False when no template has all words, and these have some of them, the best ones first. */
  readonly hasAllWords: boolean;
}

/** Shorter words, such as "a" and "to", are found everywhere and tell nothing. */
const tellingCharactersMin = 3;

/** The connectable templates, each key once, that a person looks for with these words. */
export function findTemplates(templates: readonly Template[], text: string): FoundTemplates {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const candidates = connectableOf(templates).map((template) => {
    const { key, title, description, category } = template;
    const searchableText = `${key} ${title} ${description} ${category}`.toLowerCase();
    return { template, found: words.filter((word) => searchableText.includes(word)) };
  });
  const complete = candidates.filter(({ found }) => found.length === words.length);
  if (complete.length > 0) {
    return { templates: complete.map(({ template }) => template), hasAllWords: true };
  }
  const partial = candidates
    .map(({ template, found }) => ({
      template,
      count: found.filter(({ length }) => length >= tellingCharactersMin).length,
    }))
    .filter(({ count }) => count > 0)
    .toSorted((one, other) => other.count - one.count);
  return { templates: partial.map(({ template }) => template), hasAllWords: false };
}

/** When several templates have one key, the first one is the most specific, and is connected. */
function connectableOf(templates: readonly Template[]): Template[] {
  const seenKeys = new Set<string>();
  return templates.filter(({ key, status, hosts, variables, published_version: published }) => {
    if (published === null || status === 'disabled' || seenKeys.has(key)) return false;
    seenKeys.add(key);
    return hosts.length > 0 || variables.length > 0;
  });
}
