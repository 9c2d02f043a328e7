import { readFileSync } from 'node:fs';

import { beforeAll, describe, expect, test } from 'vitest';

import type { CompiledTemplate } from '#contracts/template';
import { rankActions } from './domain/search-rank.ts';
import type { SearchSource } from './domain/search-rank.ts';
import { termsOf } from './domain/search-terms.ts';
import { compileTemplate } from './domain/template.ts';
import { createSearchIndexes } from './search-indexes.ts';
import { builtInKeys } from './test-support/built-in-keys.ts';

const directory = new URL('../service-templates/', import.meta.url);
const everything = builtInKeys.map((key): CompiledTemplate => {
  const text = readFileSync(new URL(`${key}.yaml`, directory), 'utf8');
  const { template } = compileTemplate(text, { tier: 'global', ownerId: null, version: 1 });
  if (template === undefined) throw new Error(`${key} does not compile`);
  return template;
});
/** What an org has connected. */
const connected = ['github', 'gitlab', 'jira', 'notion', 'sendgrid'];
const templates = everything.filter(({ key }) => connected.includes(key));
const indexes = createSearchIndexes();

interface Named extends SearchSource {
  readonly name: string;
}
let sources: Named[];
let all: Named[];
const sourcesOf = (given: readonly CompiledTemplate[]) =>
  Promise.all(
    given.map(async (template) => ({
      name: template.key,
      index: await indexes.get(template.key, async () => template),
      nameTerms: [...termsOf(template.key), ...termsOf(template.title)],
      isConnected: true,
    })),
  );
beforeAll(async () => {
  sources = await sourcesOf(templates);
  all = await sourcesOf(everything);
});

const find = (query: string, from = sources, limit = 10) =>
  rankActions(query, from, { limit, misspellings: indexes.misspellings });
const names = (query: string, from = sources) =>
  find(query, from).map(({ source, action }) => `${source.name} ${action.key}`);

describe('searching the built-in templates', () => {
  test.for<[query: string, first: string]>([
    ['github create issue', 'github create_issue'],
    ['create_issue github', 'github create_issue'],
    ['createIssue GitHub', 'github create_issue'],
    ['createissue github', 'github create_issue'],
    ['merge pull request', 'github merge_pull_request'],
    ['merge a pull request please', 'github merge_pull_request'],
    ['send email', 'sendgrid send_email'],
    // Other words for the same thing.
    ['add a new issue in jira', 'jira create_issue'],
    ['remove branch', 'gitlab delete_branch'],
    ['find github pull requests', 'github list_pull_requests'],
    ['edit notion page', 'notion update_page'],
    // Typos: a letter too few, one too many, one wrong, two swapped.
    ['delte label', 'github delete_label'],
    ['mergge pull request', 'github merge_pull_request'],
    ['send emeil', 'sendgrid send_email'],
    ['merge pull reqeust', 'github merge_pull_request'],
    ['gihub create issue', 'github create_issue'],
    // Beginnings.
    ['trans iss', 'jira transition_issue'],
    ['append bl', 'notion append_blocks'],
  ])('%s finds %s', ([query, first]) => {
    expect(names(query)[0]).toBe(first);
  });

  test.for<[query: string, first: string]>([
    ['github merge pull request', 'github merge_pull_request'],
    ['slack post message', 'slack post_message'],
    ['stripe refund', 'stripe refund_payment'],
    ['jira create issue', 'jira create_issue'],
  ])('among all there are, %s finds %s', ([query, first]) => {
    expect(names(query, all)[0]).toBe(first);
  });

  test('finds the same action in every service that has it', () => {
    expect(names('create issue').slice(0, 3).toSorted()).toEqual([
      'github create_issue',
      'gitlab create_issue',
      'jira create_issue',
    ]);
  });

  test('gives the actions of a service for its name', () => {
    const found = find('sendgrid', sources, 50);
    expect(new Set(found.map(({ source }) => source.name))).toEqual(new Set(['sendgrid']));
    expect(found).toHaveLength(
      sources.find(({ name }) => name === 'sendgrid')?.index.actions.length ?? 0,
    );
  });

  test.for([['quantum entanglement'], ['的'], ['()[]{}"\'\\'], ['%00'], ['x'.repeat(200)]])(
    'gives nothing for %j',
    ([query = '']) => {
      expect(names(query)).toEqual([]);
    },
  );

  test('orders by scores between 0 and 1, and gives no more than asked for', () => {
    const found = find('issue', sources, 4);
    const scores = found.map(({ score }) => score);
    expect(found).toHaveLength(4);
    expect(scores).toEqual(scores.toSorted((left, right) => right - left));
    expect(scores.every((score) => score > 0 && score <= 1)).toBe(true);
  });

  test('puts connected services before templates that are not, unless they are far off', () => {
    const mixed = sources.map((source) => ({ ...source, isConnected: source.name === 'gitlab' }));
    expect(names('create issue', mixed)[0]).toBe('gitlab create_issue');
    expect(names('create issue', mixed)).toContain('github create_issue');
    expect(names('send email', mixed)[0]).toBe('sendgrid send_email');
  });
});

describe('indexes', () => {
  const [template] = templates as [CompiledTemplate];

  test('are built once per version, however many ask at once', async () => {
    const own = createSearchIndexes();
    let loads = 0;
    const load = async () => {
      loads += 1;
      return template;
    };
    const built = await Promise.all([1, 2, 3].map(() => own.get('a', load)));
    expect([loads, new Set(built).size]).toEqual([1, 1]);
  });

  test('forget the oldest beyond their room, and its words with it', async () => {
    const own = createSearchIndexes(Object.keys(template.actions).length + 1);
    await own.get('first', async () => template);
    expect(own.misspellings('isue').map(({ term }) => term)).toContain('issue');
    await own.get('second', async () => ({ ...template, actions: {} }));
    expect(own.misspellings('isue')).toEqual([]);
  });

  test('that could not be built are tried again', async () => {
    const own = createSearchIndexes();
    const failing = own.get('a', () => Promise.reject(new Error('down')));
    await expect(failing).rejects.toThrow('down');
    await expect(own.get('a', async () => template)).resolves.toMatchObject({
      title: template.title,
    });
  });

  test('hold no disabled action', async () => {
    const own = createSearchIndexes();
    const actions = Object.fromEntries(
      Object.entries(template.actions).map(([key, action]) => [key, { ...action, disabled: true }]),
    );
    expect((await own.get('a', async () => ({ ...template, actions }))).actions).toEqual([]);
  });
});
