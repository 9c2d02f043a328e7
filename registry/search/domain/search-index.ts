import { platformKey } from '#contracts/platform';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { HttpMethod, Risk } from '#contracts/vocabulary';
import { enabledActions } from '../../templates/domain/enabled-actions.ts';
import { stemOf } from './search-stem.ts';
import { termsOf, wordsOf } from './search-terms.ts';

/**
 * The part of an action that search results need. The parameters of a result are read from the
 * template instead.
 */
export interface IndexedAction {
  readonly key: string;
  readonly summary: string;
  readonly method: HttpMethod;
  readonly risk: Risk;
  /** Set when the action has a server of its own. */
  readonly server?: CompiledAction['server'];
  /**
   * The number of words in the action's key: of two equally good matches, the one with fewer words
   * comes first.
   */
  readonly keyTerms: number;
  /** The words of its key, its summary and each of its intents. */
  readonly phrases: readonly (readonly string[])[];
}

export type AuthType = 'none' | 'secret' | 'oauth2';

/** The actions in which a word occurs, and how much it says about each of them (0 to 1). */
export interface Postings {
  readonly actions: Uint16Array;
  readonly weights: Float32Array;
}

/**
 * The searchable words of one template version. The index never changes, because a version never
 * changes.
 */
export interface VersionIndex extends Pick<CompiledTemplate, 'servers'> {
  readonly server: CompiledTemplate['server'];
  readonly title: string;
  readonly description: string;
  readonly authType: AuthType;
  readonly actions: readonly IndexedAction[];
  readonly postings: ReadonlyMap<string, Postings>;
  /** The words in alphabetical order, so that the words with one prefix are next to each other. */
  readonly terms: readonly string[];
  /** The words that say what the whole service is about. */
  readonly subject: ReadonlySet<string>;
  /**
   * Whether the author wrote down by which phrases people ask for the actions. Imported documents
   * and MCP servers have none: their actions are found by their own names and summaries alone.
   */
  readonly hasIntents: boolean;
}

/**
 * Something whose actions can be found: a connected service, or a template that is not connected.
 */
export interface SearchSource {
  readonly index: VersionIndex;
  /**
   * The names by which people call the service, as words: its own name, its title and the key of
   * its template.
   */
  readonly names: readonly (readonly string[])[];
  readonly isConnected: boolean;
}

/**
 * The weight of a word in each field of an action. A word of several fields counts in all of them,
 * with less gain each time (`saturation`), as in BM25F.
 */
const fieldWeights = {
  key: 3,
  summary: 2,
  intent: 2,
  path: 0.5,
  paramName: 0.6,
  paramDescription: 0.3,
  disclosure: 0.5,
} as const;
/** Half of the full weight is reached at this sum of field weights. */
const saturation = 1;
/** A word is counted in this many phrases of one action at most. */
const countedPhrasesMax = 2;
/** Descriptions of parameters are read this far, because long ones are about details. */
const descriptionCharactersMax = 160;
const describedParamsMax = 40;
/**
 * Indexing this many actions and parameters takes about a millisecond; then other tasks may run.
 */
const itemsPerTurn = 200;

/**
 * Indexes one template version. Calls `letOthersRun` regularly, so that other tasks need not wait
 * until the whole version is indexed.
 */
export async function indexTemplate(
  template: CompiledTemplate,
  letOthersRun: () => Promise<void>,
): Promise<VersionIndex> {
  const actions: IndexedAction[] = [];
  const postingsByTerm = new Map<string, { actions: number[]; weights: number[] }>();
  let itemsSinceTurn = 0;
  for (const action of enabledActions(template)) {
    itemsSinceTurn += 8 + action.params.length;
    if (itemsSinceTurn > itemsPerTurn) {
      itemsSinceTurn = 0;
      await letOthersRun();
    }
    const phrases = phrasesOf(action, template.intents);
    for (const [term, sum] of weighTerms(action, phrases)) {
      let list = postingsByTerm.get(term);
      if (list === undefined) postingsByTerm.set(term, (list = { actions: [], weights: [] }));
      list.actions.push(actions.length);
      list.weights.push(sum / (sum + saturation));
    }
    const { key, summary, method, risk, server } = action;
    const actionFields = { key, summary, method, risk, ...(server && { server }) };
    actions.push({ ...actionFields, keyTerms: termsOf(key).length, phrases });
  }
  const { title, description, category } = template;
  const postings = new Map(
    [...postingsByTerm].map(([term, list]) => [
      term,
      { actions: Uint16Array.from(list.actions), weights: Float32Array.from(list.weights) },
    ]),
  );
  return {
    title,
    description,
    authType: authTypeOf(template),
    server: template.server,
    ...(template.servers && { servers: template.servers }),
    actions,
    postings,
    terms: [...postings.keys()].toSorted(),
    subject: new Set([title, description, category].flatMap(termsOf)),
    // The summaries of the gateway's own actions are written to be searched.
    hasIntents: template.intents !== undefined || template.key === platformKey,
  };
}

/** The key, the summary and each intent, as lists of distinct words. */
function phrasesOf(
  { key, summary }: CompiledAction,
  intents: CompiledTemplate['intents'] = {},
): string[][] {
  const ownIntents = Object.hasOwn(intents, key) ? (intents[key] ?? []) : [];
  const texts = [key, summary.replaceAll(/\{[^}]*\}/g, ' '), ...ownIntents];
  return texts.map((text) => [...new Set(termsOf(text))]);
}

/** The weight of each word of an action, summed over the fields that contain the word. */
function weighTerms(action: CompiledAction, phrases: readonly string[][]): Map<string, number> {
  const weights = new Map<string, number>();
  const addWeight = (terms: Iterable<string>, weight: number, max = weight) => {
    for (const term of terms) {
      const before = weights.get(term) ?? 0;
      if (before < max) weights.set(term, Math.min(max, before + weight));
    }
  };
  const [, , ...intents] = phrases;
  for (const phrase of intents)
    addWeight(phrase, fieldWeights.intent, fieldWeights.intent * countedPhrasesMax);
  const addWeights = (terms: Iterable<string>, weight: number) => {
    for (const term of new Set(terms)) weights.set(term, (weights.get(term) ?? 0) + weight);
  };
  addWeights([...(phrases[0] ?? []), stemOf(wordsOf(action.key).join(''))], fieldWeights.key);
  addWeights(termsOf(action.summary), fieldWeights.summary);
  addWeights(termsOf(action.path), fieldWeights.path);
  const params = action.params.slice(0, describedParamsMax);
  addWeights(
    action.params.flatMap(({ name }) => termsOf(name)),
    fieldWeights.paramName,
  );
  addWeights(
    params.flatMap(({ description }) => termsOf(description.slice(0, descriptionCharactersMax))),
    fieldWeights.paramDescription,
  );
  addWeights(
    action.disclose.flatMap(({ label }) => termsOf(label)),
    fieldWeights.disclosure,
  );
  return weights;
}

/**
 * The authentication type of the first alternative in `security`. When that needs several schemes,
 * one OAuth scheme makes the type OAuth.
 */
function authTypeOf({ auth, security: [preferred = []] }: CompiledTemplate): AuthType {
  if (preferred.length === 0) return 'none';
  const isOAuth = auth.some(({ scheme, type }) => type === 'oauth2' && preferred.includes(scheme));
  return isOAuth ? 'oauth2' : 'secret';
}
