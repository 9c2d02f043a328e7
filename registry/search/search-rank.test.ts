import { readFileSync } from 'node:fs';

import { beforeAll, describe, expect, test } from 'vitest';

import type { CompiledTemplate } from '#contracts/template';
import { rankActions } from './domain/search-rank.ts';
import type { SearchSource } from './domain/search-index.ts';
import { stemOf } from './domain/search-stem.ts';
import { termsOf } from './domain/search-terms.ts';
import { compileTemplate } from '../compiler/domain/template.ts';
import { createSearchIndexes } from './search-indexes.ts';
import { builtInKeys } from '../templates/built-in-keys.testing.ts';

const directory = new URL('../../service-templates/', import.meta.url);
const allTemplates = builtInKeys.map((key): CompiledTemplate => {
  const text = readFileSync(new URL(`${key}.yaml`, directory), 'utf8');
  const { template } = compileTemplate(text, { tier: 'global', ownerId: null, version: 1 });
  if (template === undefined) throw new Error(`${key} does not compile`);
  return template;
});
/** The services that the test org has connected. */
const connectedKeys = ['github', 'gitlab', 'jira', 'notion', 'sendgrid'];
const connectedTemplates = allTemplates.filter(({ key }) => connectedKeys.includes(key));
const indexes = createSearchIndexes();

interface NamedSource extends SearchSource {
  readonly name: string;
}
let sources: NamedSource[];
let allSources: NamedSource[];
const sourcesOf = (givenTemplates: readonly CompiledTemplate[]) =>
  Promise.all(
    givenTemplates.map(async (template) => ({
      name: template.key,
      index: await indexes.get(template.key, async () => template),
      names: [termsOf(template.key), termsOf(template.title)],
      isConnected: true,
    })),
  );
beforeAll(async () => {
  sources = await sourcesOf(connectedTemplates);
  allSources = await sourcesOf(allTemplates);
});

const findHits = (query: string, from = sources, limit = 10) =>
  rankActions(query, from, { limit, vocabulary: indexes });
const findActionNames = (query: string, from = sources) =>
  findHits(query, from).map(({ source, action }) => `${source.name} ${action.key}`);

describe('searching the built-in templates', () => {
  test.for<[query: string, first: string]>([
    ['github create issue', 'github create_issue'],
    ['create_issue github', 'github create_issue'],
    ['createIssue GitHub', 'github create_issue'],
    ['createissue github', 'github create_issue'],
    ['merge pull request', 'github merge_pull_request'],
    ['merge a pull request please', 'github merge_pull_request'],
    ['send email', 'sendgrid send_email'],
    // Queries with synonyms
    ['add a new issue in jira', 'jira create_issue'],
    ['remove branch', 'gitlab delete_branch'],
    ['find github pull requests', 'github list_pull_requests'],
    ['edit notion page', 'notion update_page'],
    // Queries with typos: a missing letter, an additional letter, a wrong letter, two swapped
    // letters
    ['delte label', 'github delete_label'],
    ['mergge pull request', 'github merge_pull_request'],
    ['send emeil', 'sendgrid send_email'],
    ['merge pull reqeust', 'github merge_pull_request'],
    ['gihub create issue', 'github create_issue'],
    // Queries with prefixes of words
    ['trans iss', 'jira transition_issue'],
    ['append bl', 'notion append_blocks'],
  ])('ranks first for the query "%s" the action "%s"', ([query, first]) => {
    expect(findActionNames(query)[0]).toBe(first);
  });

  test.for<[query: string, first: string]>([
    ['github merge pull request', 'github merge_pull_request'],
    ['slack post message', 'slack post_message'],
    ['stripe refund', 'stripe refund_payment'],
    ['jira create issue', 'jira create_issue'],
  ])('ranks first in the whole catalogue for the query "%s" the action "%s"', ([query, first]) => {
    expect(findActionNames(query, allSources)[0]).toBe(first);
  });

  test('finds an action in every service that has the action', () => {
    expect(findActionNames('create issue').slice(0, 3).toSorted()).toEqual([
      'github create_issue',
      'gitlab create_issue',
      'jira create_issue',
    ]);
  });

  test('lists the actions of a service when the query is its name', () => {
    const foundHits = findHits('sendgrid', sources, 50);
    expect(new Set(foundHits.map(({ source }) => source.name))).toEqual(new Set(['sendgrid']));
    expect(foundHits).toHaveLength(
      sources.find(({ name }) => name === 'sendgrid')?.index.actions.length ?? 0,
    );
  });

  test.for([['quantum entanglement'], ['的'], ['()[]{}"\'\\'], ['%00'], ['x'.repeat(200)]])(
    'finds nothing for the query %j',
    ([query = '']) => {
      expect(findActionNames(query)).toEqual([]);
    },
  );

  test.for([
    ['create a record in ServiceNow'],
    ['is it going to snow in the mountains on the way home'],
    ['water the plants on the balcony'],
  ])('finds nothing in the whole catalogue for "%s"', ([query = '']) => {
    expect(findActionNames(query, allSources)).toEqual([]);
  });

  test.for<[query: string, action: string]>([
    ['send my dentist an SMS that I am running late', 'twilio send_message'],
    ['get a link for a video call with the new client', 'zoom create_meeting'],
    ['give a customer their money back', 'stripe refund_payment'],
  ])('finds for the question "%s" the action "%s"', ([query, action]) => {
    expect(findActionNames(query, allSources).slice(0, 5)).toContain(action);
  });

  test('orders results by scores between 0 and 1, up to the limit', () => {
    const foundHits = findHits('issue', sources, 4);
    const scores = foundHits.map(({ score }) => score);
    expect(foundHits).toHaveLength(4);
    expect(scores).toEqual(scores.toSorted((left, right) => right - left));
    expect(scores.every((score) => score > 0 && score <= 1)).toBe(true);
  });

  test('puts connected services before other templates, unless they match much worse', () => {
    const sourcesWithOneConnected = sources.map((source) => ({
      ...source,
      isConnected: source.name === 'gitlab',
    }));
    expect(findActionNames('create issue', sourcesWithOneConnected)[0]).toBe('gitlab create_issue');
    expect(findActionNames('create issue', sourcesWithOneConnected)).toContain(
      'github create_issue',
    );
    expect(findActionNames('send email', sourcesWithOneConnected)[0]).toBe('sendgrid send_email');
  });
});

describe('search indexes', () => {
  const [template] = connectedTemplates as [CompiledTemplate];

  test('are built once per template version, even for concurrent searches', async () => {
    const ownIndexes = createSearchIndexes();
    let loadCount = 0;
    const load = async () => {
      loadCount += 1;
      return template;
    };
    const builtIndexes = await Promise.all([1, 2, 3].map(() => ownIndexes.get('a', load)));
    expect([loadCount, new Set(builtIndexes).size]).toEqual([1, 1]);
  });

  test('drop the least recently used index and its words when the limit is exceeded', async () => {
    const ownIndexes = createSearchIndexes(Object.keys(template.actions).length + 1);
    await ownIndexes.get('first', async () => template);
    expect(ownIndexes.misspellings('isue').map(({ term }) => term)).toContain(stemOf('issue'));
    await ownIndexes.get('second', async () => ({ ...template, actions: {} }));
    expect(ownIndexes.misspellings('isue')).toEqual([]);
  });

  test('count words only in the searched services, also after a search in others', () => {
    const rateHits = (from: readonly NamedSource[], vocabulary = indexes) =>
      rankActions('add a comment to an issue', [...from], { limit: 10, vocabulary }).map(
        ({ source, action, score }) => [source.name, action.key, score],
      );
    const withoutMemory = createSearchIndexes();
    const expected = rateHits(sources, withoutMemory);
    expect(rateHits(allSources)).not.toEqual(expected);
    expect(rateHits(sources)).toEqual(expected);
    expect(rateHits(sources.toReversed())).toEqual(rateHits(sources.toReversed(), withoutMemory));
  });

  test('are built again by the next search after building them failed', async () => {
    const ownIndexes = createSearchIndexes();
    const failedBuild = ownIndexes.get('a', () => Promise.reject(new Error('down')));
    await expect(failedBuild).rejects.toThrow('down');
    await expect(ownIndexes.get('a', async () => template)).resolves.toMatchObject({
      title: template.title,
    });
  });

  test('contain no disabled actions', async () => {
    const ownIndexes = createSearchIndexes();
    const disabledActions = Object.fromEntries(
      Object.entries(template.actions).map(([key, action]) => [key, { ...action, disabled: true }]),
    );
    expect(
      (await ownIndexes.get('a', async () => ({ ...template, actions: disabledActions }))).actions,
    ).toEqual([]);
  });
});
