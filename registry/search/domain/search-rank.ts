import type { IndexedAction, VersionIndex, SearchSource } from './search-index.ts';
import { matchName } from './search-match.ts';
import { matchPhrases, readQuery } from './search-query.ts';
import type { ParsedQuery, Vocabulary } from './search-query.ts';

export interface SearchHit<Source extends SearchSource> {
  readonly source: Source;
  readonly action: IndexedAction;
  /**
   * From 0 to 1: the more of the query matches, the higher. Scores of different services can be
   * compared.
   */
  readonly score: number;
}

/**
 * The share of its weight that a word of the query has when only the name of the service contains
 * it.
 */
const nameShare = 0.8;
/**
 * The share of its weight that a word has when only the texts about the whole service contain it.
 */
const subjectShare = 0.3;
/** A score is multiplied by this when the query names another service in full. */
const otherServiceShare = 0.5;
/**
 * The weight of the best phrase of an action, where the words of the whole action have the weight
 * 1.
 */
const phraseScoreWeight = 0.3;
/**
 * The most actions of connected services, and the most of other templates, whose phrases are
 * compared with the query.
 */
const comparedActionsMax = 40;
/**
 * The bonus for an action with a short key, so that of two equal matches the more general one wins.
 */
const brevityBonus = 0.02;
/**
 * A result whose score is below this share of the best score is dropped. Such weak matches would
 * fill the list before the templates, which come after all connected services.
 */
const scoreShareMin = 0.4;
/**
 * A result that covers at least this share of the query is kept. One that covers less is kept if
 * enough rare words match: if the square of the share times the summed rarity of all words reaches
 * `confidenceMin`. Otherwise its words match by chance.
 */
const coverageMin = 0.62;
const confidenceMin = 0.2;
/**
 * Like `confidenceMin`, for services without intents. A question has more words than their names and
 * summaries can match, so fewer words must match.
 */
const confidenceMinWithoutIntents = 0.1;
/**
 * The confidence is multiplied by this when the query names a product that is not among the
 * services.
 */
const otherProductShare = 0.3;

/**
 * Returns the best actions for a query, those of connected services first; none when no action is
 * likely to be what was asked for.
 */
export function rankActions<Source extends SearchSource>(
  query: string,
  sources: readonly Source[],
  { limit, vocabulary }: { limit: number; vocabulary: Vocabulary },
): SearchHit<Source>[] {
  const parsedQuery = readQuery(query, sources, vocabulary);
  if (parsedQuery.words.length === 0) return [];
  const candidates = selectCandidates(parsedQuery, sources, Math.max(limit, comparedActionsMax));
  const isLikelyAnswer = createConfidenceTest(parsedQuery, candidates.isServiceNamed);
  const [connected = [], others = []] = [candidates.connected, candidates.others].map((found) =>
    found
      .filter(({ coverage, source }) => isLikelyAnswer(coverage, source.index))
      .map((candidate) => toHit(parsedQuery, candidate))
      .toSorted((left, right) => right.score - left.score)
      .slice(0, limit),
  );
  const bestScore = Math.max(connected[0]?.score ?? 0, others[0]?.score ?? 0);
  return [...connected, ...others]
    .filter(({ score }) => score >= bestScore * scoreShareMin)
    .slice(0, limit);
}

/**
 * Returns the function that decides, by the share of the query that an action covers, whether the
 * action is an answer to the query.
 */
function createConfidenceTest(
  { rarity, namesOtherProduct }: ParsedQuery,
  isServiceNamed: boolean,
): (coverage: number, index: Pick<VersionIndex, 'hasIntents'>) => boolean {
  const total = rarity.reduce((sum, each) => sum + each, 0);
  const certainty = namesOtherProduct && !isServiceNamed ? otherProductShare : 1;
  return (coverage, { hasIntents }) =>
    coverage * certainty >= coverageMin ||
    coverage * coverage * total * certainty >=
      (hasIntents ? confidenceMin : confidenceMinWithoutIntents);
}

interface Candidate<Source> {
  readonly source: Source;
  readonly action: IndexedAction;
  /** The share of the query's words that the action and the name of its service match, by rarity. */
  readonly coverage: number;
  readonly isName: readonly boolean[];
  /** The score is multiplied by this; less than 1 when the query names another service. */
  readonly share: number;
}

function toHit<Source extends SearchSource>(
  query: ParsedQuery,
  { source, action, coverage, isName, share }: Candidate<Source>,
): SearchHit<Source> {
  const phraseScore = matchPhrases(query, action, isName) * share;
  const matchScore = (coverage * share + phraseScore * phraseScoreWeight) / (1 + phraseScoreWeight);
  const score = (matchScore + brevityBonus / action.keyTerms) / (1 + brevityBonus);
  return { source, action, score: Math.min(1, score) };
}

function selectCandidates<Source extends SearchSource>(
  query: ParsedQuery,
  sources: readonly Source[],
  max: number,
) {
  const nameMatches = sources.map((source) => matchNames(query, source));
  const isServiceNamed = nameMatches.some(({ isWhole }) => isWhole);
  const connected = createTopList<Candidate<Source>>(max);
  const others = createTopList<Candidate<Source>>(max);
  const coverageByIndex = new Map<VersionIndex, VersionCoverage>();
  sources.forEach((source, at) => {
    const { index } = source;
    const { names = [], isWhole = false } = nameMatches[at] ?? {};
    const coverage = coverageByIndex.get(index) ?? computeCoverage(query, index);
    coverageByIndex.set(index, coverage);
    const share = isServiceNamed && !isWhole ? otherServiceShare : 1;
    const isName = names.map((quality) => quality > 0);
    // When the query contains the name of the service, all actions of the service match.
    const isServiceNamedByWord = isName.includes(true);
    const topOfKind = source.isConnected ? connected : others;
    for (const position of isServiceNamedByWord ? index.actions.keys() : coverage.actions) {
      const ownShare = isServiceNamedByWord
        ? coverage.withNames(position, names)
        : (coverage.shares[position] ?? 0);
      if (ownShare * share <= topOfKind.worst()) continue;
      const action = index.actions[position] as IndexedAction;
      topOfKind.add({ source, action, coverage: ownShare, isName, share }, ownShare * share);
    }
  });
  return { connected: connected.items, others: others.items, isServiceNamed };
}

/** How well each word names the service, and whether the query contains one of its names in full. */
function matchNames({ words }: ParsedQuery, { names }: SearchSource) {
  const nameTerms = new Set(names.flat());
  const terms = new Set(words.map(({ term }) => term));
  return {
    names: words.map((word) => matchName(nameTerms, word)),
    isWhole: names.some((name) => name.length > 0 && name.every((term) => terms.has(term))),
  };
}

/** How much of a query the actions of one version cover. All services that use it share the result. */
interface VersionCoverage {
  readonly actions: readonly number[];
  readonly shares: Float32Array;
  /** The share that an action and the names of its service cover together. */
  withNames(action: number, names: readonly number[]): number;
}

function computeCoverage(
  { words, rarity, matches }: ParsedQuery,
  index: VersionIndex,
): VersionCoverage {
  const found = matches.get(index) ?? [];
  const total = rarity.reduce((sum, each) => sum + each, 0);
  const wordShares = rarity.map((each) => each / total);
  const subjectShares = words.map(({ term }) => (index.subject.has(term) ? subjectShare : 0));
  const subjectCoverage = subjectShares.reduce<number>(
    (sum, share, at) => sum + share * (wordShares[at] ?? 0),
    0,
  );
  const shares = new Float32Array(index.actions.length);
  const actions: number[] = [];
  found.forEach((wordMatch, at) => {
    const wordShare = wordShares[at] ?? 0;
    const subjectWeight = subjectShares[at] ?? 0;
    for (const action of wordMatch?.actions ?? []) {
      if (shares[action] === 0) {
        actions.push(action);
        shares[action] = subjectCoverage;
      }
      const gain = Math.max(0, (wordMatch?.weights[action] ?? 0) - subjectWeight) * wordShare;
      shares[action] = (shares[action] ?? 0) + gain;
    }
  });
  return {
    actions,
    shares,
    withNames: (action, names) =>
      wordShares.reduce((sum, wordShare, at) => {
        const ownShare = Math.max(found[at]?.weights[action] ?? 0, subjectShares[at] ?? 0);
        return sum + wordShare * Math.max(ownShare, (names[at] ?? 0) * nameShare);
      }, 0),
  };
}

/** Keeps the items with the highest scores in order, at most `max`. */
function createTopList<Item>(max: number) {
  const items: Item[] = [];
  const scores: number[] = [];
  return {
    items,
    worst: () => (items.length < max ? 0 : (scores.at(-1) ?? 0)),
    add(item: Item, score: number) {
      const found = scores.findIndex((each) => each < score);
      const at = found === -1 ? items.length : found;
      items.splice(at, 0, item);
      scores.splice(at, 0, score);
      if (items.length > max) {
        items.pop();
        scores.pop();
      }
    },
  };
}
