/**
 * `npm run search:questions` measures how often the search finds what people ask for. The questions
 * were written by people who saw only the titles of the services (README.md). `-- aside` uses the
 * second half of the questions. Nobody may look at that half while changing the search.
 */
import { readFileSync } from 'node:fs';

import { z } from 'zod';

import { compileTemplate } from '../../registry/compiler/domain/template.ts';
import { rankActions } from '../../registry/search/domain/search-rank.ts';
import type { SearchSource } from '../../registry/search/domain/search-index.ts';
import { termsOf } from '../../registry/search/domain/search-terms.ts';
import { createSearchIndexes } from '../../registry/search/search-indexes.ts';
import { builtInKeys } from '../../registry/templates/built-in-keys.testing.ts';

interface NamedSource extends SearchSource {
  readonly key: string;
}

const questionSchema = z.strictObject({
  natural: z.string(),
  keywords: z.string(),
  /** The actions that a reasonable person accepts as right, as `template:action`. */
  accept: z.array(z.string()),
  /**
   * The actions that are right for the keywords. Set only if the keywords name a service and the
   * sentence does not.
   */
  accept_keywords: z.array(z.string()).optional(),
  /**
   * The reason why no action of the catalogue is right. A question with a reason is not counted.
   */
  lacking: z.string().optional(),
});
const unanswerableSchema = z.strictObject({ natural: z.string(), keywords: z.string() });

const rowsMax = 10;
const readQuestions = (name: string) =>
  JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), 'utf8')) as unknown;

const indexes = createSearchIndexes();

async function sourceOf(key: string): Promise<NamedSource> {
  const text = readFileSync(
    new URL(`../../service-templates/${key}.yaml`, import.meta.url),
    'utf8',
  );
  const { template } = compileTemplate(text, { tier: 'global', ownerId: null, version: 1 });
  if (template === undefined) throw new Error(`${key} does not compile`);
  const index = await indexes.get(key, async () => template);
  const names = [termsOf(template.key), termsOf(template.title)];
  return { key, index, names, isConnected: true };
}

const sources = await Promise.all(builtInKeys.map(sourceOf));
const searchActions = (query: string) =>
  rankActions(query, sources, { limit: rowsMax, vocabulary: indexes }).map(
    ({ source, action }) => `${source.key}:${action.key}`,
  );

/** The percentage of queries for which one of the first `rows` rows is an accepted action. */
function shareWithin(
  queries: readonly { query: string; accept: readonly string[] }[],
  rows: number,
): string {
  const answeredQueries = queries.filter(({ query, accept }) =>
    searchActions(query)
      .slice(0, rows)
      .some((action) => accept.includes(action)),
  );
  return `${Math.round((answeredQueries.length / queries.length) * 100)} %`;
}

const setName = process.argv.includes('aside') ? 'aside' : 'tuning';
// The tools of an MCP server are not known before it is connected, so its actions cannot be found
// here.
const isKnown = (action: string) => !action.startsWith('linear:');
const keptQuestions = z
  .array(questionSchema)
  .parse(readQuestions(setName))
  .filter(({ accept }) => accept.some(isKnown));
const sentenceQueries = keptQuestions.map(({ natural: query, accept }) => ({ query, accept }));
const keywordQueries = keptQuestions.map((each) => ({
  query: each.keywords,
  accept: each.accept_keywords ?? each.accept,
}));

const printLine = (line: string) => process.stdout.write(`${line}\n`);
printLine(`${keptQuestions.length} questions of the set "${setName}", ${sources.length} services`);
for (const [kind, queries] of [
  ['sentences', sentenceQueries],
  ['keywords', keywordQueries],
] as const) {
  const shareTexts = [1, 3, 5, rowsMax].map((rows) => `top ${rows}: ${shareWithin(queries, rows)}`);
  printLine(`${kind}: ${shareTexts.join(', ')}`);
}
const unanswerableQueries = z.array(unanswerableSchema).parse(readQuestions('unanswerable'));
const queriesWithoutRow = unanswerableQueries.filter(
  ({ natural: query }) => searchActions(query).length === 0,
);
printLine(`unanswerable: ${queriesWithoutRow.length} of ${unanswerableQueries.length} find no row`);
