import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { rankActions } from '../../registry/search/domain/search-rank.ts';
import type { SearchSource } from '../../registry/search/domain/search-index.ts';
import { createSearchIndexes } from '../../registry/search/search-indexes.ts';

export interface SearchFigures {
  readonly actions: number;
  readonly p50: number;
  readonly p99: number;
}

const servicesCount = 20;
const actionsPerService = 1_000;
const roundsCount = 2_000;

const verbs = 'create list get update delete merge archive search send assign'.split(' ');
const nouns =
  'issue pull_request comment label user team project milestone webhook page block contact list campaign invoice payment order customer product shipment refund subscription event calendar file folder permission release'.split(
    ' ',
  );
const queries = [
  'create issue',
  'delte pull reqest',
  'list invoices for customer',
  'add new comment',
  'update calendar event permission',
  'send',
  'find users',
  'refund payment subscripton',
];

/**
 * Measures a search within one process: how long the agent waits, not counting the messages between
 * the gateway and the registry.
 */
export async function measureSearch(): Promise<SearchFigures> {
  const indexes = createSearchIndexes();
  const sources: SearchSource[] = [];
  for (let at = 0; at < servicesCount; at += 1) {
    const template = templateOf(at);
    const index = await indexes.get(template.key, async () => template);
    sources.push({ index, names: [[template.key]], isConnected: true });
  }
  const findActions = (query: string) =>
    rankActions(query, sources, { limit: 10, vocabulary: indexes });
  for (let round = 0; round < roundsCount / 4; round += 1)
    findActions(queries[round % queries.length] ?? '');
  const durations: number[] = [];
  for (let round = 0; round < roundsCount; round += 1) {
    const started = performance.now();
    findActions(queries[round % queries.length] ?? '');
    durations.push(performance.now() - started);
  }
  durations.sort((left, right) => left - right);
  const at = (share: number) => durations[Math.floor(roundsCount * share)] ?? 0;
  return { actions: servicesCount * actionsPerService, p50: at(0.5), p99: at(0.99) };
}

/**
 * Generates a template. The template is the same in every run. Each action has some words that no
 * other action has, and some common words.
 */
function templateOf(service: number): CompiledTemplate {
  const actions = Array.from({ length: actionsPerService }, (_, position): CompiledAction => {
    const seed = service * actionsPerService + position;
    const [verb = '', noun = ''] = [verbs[seed % verbs.length], nouns[(seed * 7) % nouns.length]];
    const key = `${verb}_${noun}_${generateWord(seed)}_${position}`;
    const text = [1, 2, 3, 4, 5, 6, 7, 8].map((step) => generateWord(seed * step)).join(' ');
    return {
      key,
      method: 'GET',
      path: `/v1/${noun}/{${generateWord(seed * 3)}_id}`,
      summary: `${verb} ${noun} ${text}`,
      description: [],
      risk: 'read',
      scopeParam: null,
      params: [],
      paramsSchema: {},
      body: null,
      disclose: [],
      redact: [],
      responseType: 'json',
      minimumScopes: null,
      disabled: false,
    };
  });
  return {
    key: `service${service}`,
    tier: 'global',
    ownerId: null,
    version: 1,
    title: '',
    description: '',
    category: '',
    runtime: 'http',
    server: null,
    hosts: [],
    auth: [],
    security: [],
    actions: Object.fromEntries(actions.map((each) => [each.key, each])),
  };
}

/** Returns one of 4,000 generated words. */
function generateWord(seed: number): string {
  const syllables = ['ba', 'ce', 'di', 'fo', 'gu', 'lan', 'mer', 'nis', 'pol', 'tur'];
  const digits = String((seed * 2_654_435_761) % 4_000).padStart(4, '0');
  return Array.from(digits, (digit) => syllables[Number(digit)]).join('');
}
