import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { rankActions } from '../../registry/domain/search-rank.ts';
import type { SearchSource } from '../../registry/domain/search-rank.ts';
import { createSearchIndexes } from '../../registry/search-indexes.ts';

export interface SearchFigures {
  readonly actions: number;
  readonly p50: number;
  readonly p99: number;
}

const services = 20;
const actionsPerService = 1_000;
const rounds = 2_000;

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

/** Searching, in one process: what an agent waits for beyond the way to the registry and back. */
export async function measureSearch(): Promise<SearchFigures> {
  const indexes = createSearchIndexes();
  const sources: SearchSource[] = [];
  for (let at = 0; at < services; at += 1) {
    const template = templateOf(at);
    const index = await indexes.get(template.key, async () => template);
    sources.push({ index, nameTerms: [template.key], isConnected: true });
  }
  const find = (query: string) =>
    rankActions(query, sources, { limit: 10, misspellings: indexes.misspellings });
  for (let round = 0; round < rounds / 4; round += 1) find(queries[round % queries.length] ?? '');
  const durations: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    find(queries[round % queries.length] ?? '');
    durations.push(performance.now() - started);
  }
  durations.sort((left, right) => left - right);
  const at = (share: number) => durations[Math.floor(rounds * share)] ?? 0;
  return { actions: services * actionsPerService, p50: at(0.5), p99: at(0.99) };
}

/** The same in every run: each action has words of its own, and words that many have. */
function templateOf(service: number): CompiledTemplate {
  const actions = Array.from({ length: actionsPerService }, (_, position): CompiledAction => {
    const seed = service * actionsPerService + position;
    const [verb = '', noun = ''] = [verbs[seed % verbs.length], nouns[(seed * 7) % nouns.length]];
    const key = `${verb}_${noun}_${wordOf(seed)}_${position}`;
    const text = [1, 2, 3, 4, 5, 6, 7, 8].map((step) => wordOf(seed * step)).join(' ');
    return {
      key,
      method: 'GET',
      path: `/v1/${noun}/{${wordOf(seed * 3)}_id}`,
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

/** One of 4,000 words. */
function wordOf(seed: number): string {
  const syllables = ['ba', 'ce', 'di', 'fo', 'gu', 'lan', 'mer', 'nis', 'pol', 'tur'];
  const digits = String((seed * 2_654_435_761) % 4_000).padStart(4, '0');
  return Array.from(digits, (digit) => syllables[Number(digit)]).join('');
}
