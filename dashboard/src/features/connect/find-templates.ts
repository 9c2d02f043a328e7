import type { Template } from '#contracts/http/templates';

export interface FoundTemplates {
  readonly templates: readonly Template[];
  /**
   * False if no template contains all words. Then the templates contain some of the words, and
   * those with the most words come first.
   */
  readonly hasAllWords: boolean;
}

/** Shorter words, such as "a" and "to", are in almost every text, so they do not count. */
const tellingCharactersMin = 3;

/** Words that people search for, with words that descriptions use for the same thing. */
const otherWords: Readonly<Record<string, readonly string[]>> = {
  appointment: ['calendar'],
  billing: ['payments', 'invoices'],
  bug: ['issues'],
  chat: ['channels'],
  code: ['repositories', 'branches'],
  crm: ['sales'],
  doc: ['documents', 'pages', 'files'],
  email: ['mail'],
  git: ['repositories', 'branches'],
  helpdesk: ['support'],
  inbox: ['mail'],
  issue: ['tickets'],
  llm: ['models'],
  login: ['identity'],
  meeting: ['calendar'],
  messaging: ['messages'],
  monitoring: ['monitors', 'alerts', 'incidents'],
  oncall: ['on-call'],
  sms: ['text messages'],
  sso: ['identity'],
  storage: ['files', 'buckets'],
  task: ['issues', 'cards'],
  ticket: ['issues'],
  todo: ['tasks', 'issues', 'cards'],
  video: ['meetings'],
  website: ['hosting'],
  wiki: ['pages'],
};

/** Words with the same meaning as this one. The word may be a plural, or typed only in part. */
function otherWordsOf(word: string): readonly string[] {
  if (word.length < tellingCharactersMin) return [];
  const singular = word.replace(/s$/, '');
  return [
    singular,
    ...Object.entries(otherWords).flatMap(([key, words]) =>
      key.startsWith(word) || key === singular ? words : [],
    ),
  ];
}

/**
 * The connectable templates that match the words, each key once. Templates with the words
 * themselves come before templates with words of the same meaning.
 */
export function findTemplates(templates: readonly Template[], text: string): FoundTemplates {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => ({ word, others: otherWordsOf(word) }));
  const candidates = connectableOf(templates)
    .map((template) => {
      const { key, title, description, category } = template;
      const searchableText = `${key} ${title} ${description} ${category}`.toLowerCase();
      const has = (word: string) => searchableText.includes(word);
      const found = words.filter(({ word, others }) => has(word) || others.some(has));
      return { template, found, literalCount: found.filter(({ word }) => has(word)).length };
    })
    .toSorted((one, other) => other.literalCount - one.literalCount);
  const complete = candidates.filter(({ found }) => found.length === words.length);
  if (complete.length > 0) {
    return { templates: complete.map(({ template }) => template), hasAllWords: true };
  }
  const partial = candidates
    .map(({ template, found }) => ({
      template,
      count: found.filter(({ word }) => word.length >= tellingCharactersMin).length,
    }))
    .filter(({ count }) => count > 0)
    .toSorted((one, other) => other.count - one.count);
  return { templates: partial.map(({ template }) => template), hasAllWords: false };
}

/**
 * If several templates have the same key, the first is the most specific one, and that one is
 * connected.
 */
function connectableOf(templates: readonly Template[]): Template[] {
  const seenKeys = new Set<string>();
  return templates.filter(({ key, status, hosts, variables, published_version: published }) => {
    if (published === null || status === 'disabled' || seenKeys.has(key)) return false;
    seenKeys.add(key);
    return hosts.length > 0 || variables.length > 0;
  });
}
