import { describe, expect, test } from 'vitest';

import { cpuMsOf } from '../../test/support/cpu.ts';
import type { CompiledAction, CompiledTemplate } from '../contracts/template.ts';
import { findOperations } from './operations.ts';

function createAction(key: string, method: CompiledAction['method'], path: string): CompiledAction {
  const names = [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name = '']) => name);
  return {
    key,
    method,
    path,
    summary: key,
    description: [],
    risk: 'read',
    scopeParam: null,
    params: names.map((name) => ({
      name,
      wireName: name,
      in: 'path',
      style: 'simple',
      required: true,
      description: '',
      schema: {},
      explode: true,
      // In GitHub's template these two parameters may contain slashes.
      allowReserved: ['repository', 'path'].includes(name),
      resolve: null,
    })),
    paramsSchema: {},
    body: null,
    disclose: [],
    redact: [],
    responseType: 'json',
    minimumScopes: null,
    disabled: false,
  };
}

const actions = [
  createAction('list_issues', 'GET', '/repos/{repository}/issues'),
  createAction('create_issue', 'POST', '/repos/{repository}/issues'),
  createAction('get_file', 'GET', '/repos/{repository}/contents/{path}'),
  createAction('get_user', 'GET', '/users/{id}'),
  createAction('get_me', 'GET', '/users/me'),
];
const template = {
  actions: Object.fromEntries(actions.map((each) => [each.key, each])),
} as unknown as CompiledTemplate;

describe('findOperations (the operations that a request may match)', () => {
  test.for<[method: string, path: string, found: [key: string, values: Record<string, string>][]]>([
    ['GET', '/repos/acme/site/issues', [['list_issues', { repository: 'acme/site' }]]],
    ['POST', '/repos/acme/site/issues', [['create_issue', { repository: 'acme/site' }]]],
    ['HEAD', '/users/7', [['get_user', { id: '7' }]]],
    ['GET', '/users/me', [['get_me', {}]]],
    ['GET', '//users//me', [['get_me', {}]]],
    ['GET', '/users/%6De', [['get_me', {}]]],
    ['DELETE', '/users/7', []],
    ['GET', '/users', []],
    ['GET', '/users/', []],
    ['GET', '/users/7/keys', []],
    [
      'GET',
      '/repos/acme/site/contents/a/b.ts',
      [['get_file', { repository: 'acme/site', path: 'a/b.ts' }]],
    ],
    [
      'GET',
      '/repos/acme/contents/contents/x',
      [
        ['get_file', { repository: 'acme', path: 'contents/x' }],
        ['get_file', { repository: 'acme/contents', path: 'x' }],
      ],
    ],
  ])('finds for %s %s the operations with these path values: %j', ([method, path, found]) => {
    const operations = findOperations(template, { method, path });

    expect(operations.map(({ action: { key }, pathValues }) => [key, pathValues])).toEqual(found);
  });

  test('is fast for a path of only separators and a template path with two multi-segment parameters', () => {
    const path = `/repos${'/contents'.repeat(500)}`;

    expect(findOperations(template, { method: 'GET', path }).length).toBeLessThanOrEqual(16);
  });

  test('takes time linear in the length of a long path', () => {
    const manyActions = Array.from({ length: 20 }, (_, index) =>
      createAction(`get_${index}`, 'GET', `/repos/{repository}/x${index}/{path}/end`),
    );
    const template = {
      actions: Object.fromEntries(manyActions.map((each) => [each.key, each])),
    } as unknown as CompiledTemplate;
    const createRequest = (times: number) => ({
      method: 'GET',
      path: `/repos${'/a/x1'.repeat(times)}`,
    });
    const costOf = (times: number) => cpuMsOf(() => findOperations(template, createRequest(times)));

    expect(findOperations(template, createRequest(1_600))).toEqual([]);
    expect(costOf(1_600)).toBeLessThan(24 * costOf(200));
  });
});
