import { describe, expect, test } from 'vitest';

import type { CompiledAction, CompiledTemplate, ScopeParam } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { compilePattern } from '#permission-key';
import { actionOf, paramOf, templateOf } from '../../action.testing.ts';
import { scopeOfCall } from '../../calls/domain/scope-values.ts';
import { listActionNames, neighbourNames } from './deny-names.ts';
import type { Neighbour } from './deny-names.ts';
import { couldDeny, deniesKey } from './deny-patterns.ts';
import { compileParamCheck } from './param-check.ts';
import { readQuery } from './sent-query.ts';
import type { SentRequest } from './sent-request.ts';

const textSchema = { type: 'string' };
const objectSchema = (properties: Record<string, JsonValue>) => ({ type: 'object', properties });
const listSchemaOf = (items: JsonValue) => ({ type: 'array', items });
const fieldsSchema = objectSchema({
  project: objectSchema({ key: textSchema }),
  issuetype: objectSchema({ name: textSchema }),
});

function postOf(key: string, scopeParam: ScopeParam, more: Partial<CompiledAction> = {}) {
  return actionOf(key, {
    method: 'POST',
    path: `/${key}`,
    risk: 'write',
    body: { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
    scopeParam,
    params: [
      paramOf('fields', 'body', { schema: fieldsSchema }),
      paramOf('people', 'body', {
        schema: listSchemaOf(
          objectSchema({
            email: textSchema,
            to: listSchemaOf(objectSchema({ email: textSchema })),
            cc: listSchemaOf(objectSchema({ email: textSchema })),
          }),
        ),
      }),
      ...['to', 'cc', 'bcc'].map((name) =>
        paramOf(name, 'body', { schema: listSchemaOf(textSchema) }),
      ),
      paramOf('copy', 'query'),
      paramOf('also', 'header'),
    ],
    ...more,
  });
}
const projectPosition = { params: ['fields.project.key'], label: 'project' };
const typePosition = { params: ['fields.issuetype.name'], label: 'type' };
const issueAction = postOf('issue', [projectPosition, typePosition]);
const singleAction = postOf('single', 'fields.project.key');
const nestedAction = postOf('nested', [projectPosition]);
const mailAction = postOf('mail', [
  { params: ['to[]', 'cc[]', 'bcc[]'], label: 'recipient', as: 'email' },
]);
const copies = postOf('copies', [
  { params: ['people[].to[].email', 'people[].cc[].email'], label: 'recipient', as: 'email' },
]);
const peopleAction = postOf('people', [
  { params: ['people[].email'], label: 'recipient', as: 'email' },
]);
const mixedAction = postOf('mixed', [
  { params: ['copy', 'to[]'], label: 'recipient', as: 'lower' },
]);
const eitherAction = postOf('either', [
  { params: ['fields.project.key', 'fields.issuetype.name', 'people[].email'], label: 'place' },
]);
const headerAction = postOf('header', [
  { params: ['also', 'to[]'], label: 'recipient', as: 'lower' },
]);
const strictAction = postOf('strict', [projectPosition], {
  params: [
    paramOf('fields', 'body', {
      schema: objectSchema({
        project: { ...objectSchema({ key: textSchema }), additionalProperties: false },
      }),
    }),
    paramOf('note', 'body'),
  ],
});
const wholeBodyAction = postOf(
  'whole',
  [{ params: ['body.project.key'], label: 'project' }, typePosition],
  {
    body: { mediaType: 'application/json', wholeBody: true, required: true, parts: {} },
    params: [paramOf('body', 'body', { schema: fieldsSchema })],
  },
);

const api = templateOf(
  [
    issueAction,
    singleAction,
    nestedAction,
    mailAction,
    peopleAction,
    copies,
    mixedAction,
    eitherAction,
    headerAction,
    strictAction,
    wholeBodyAction,
  ],
  {
    key: 'api',
  },
);
/** A member's template that lists the same operations, without scope parameters. */
const ownTemplate = templateOf(
  Object.values(api.actions).map((each) => ({ ...each, key: `my_${each.key}`, scopeParam: null })),
  { key: 'own', tier: 'user' },
);
const fitsSchema: Neighbour['fits'] = (param, value) => compileParamCheck(param.schema)(value);
const neighbours = (templates: readonly CompiledTemplate[]): Neighbour[] =>
  templates.map((template) => ({ names: [template.key], prefix: '', template, fits: fitsSchema }));

/** Whether a deny refuses a request by method and path, alone and beside a member's own template. */
function isRequestDenied(rule: string, path: string, body: JsonValue | undefined, search = '') {
  const request: SentRequest = { method: 'POST', path, ...readQuery(search), body };
  const deny = compilePattern(rule, false);
  const results = [[api], [api, ownTemplate]].map((templates) =>
    neighbourNames(neighbours(templates), request, { risk: 'write' }).some((name) =>
      couldDeny(deny, name),
    ),
  );
  expect(new Set(results).size).toBe(1);
  return results[0] === true;
}

/** Whether a deny refuses the call of the action; true also when the call itself is refused. */
function isCallDenied(rule: string, action: CompiledAction, params: Record<string, JsonValue>) {
  try {
    const { keys, denyArguments } = scopeOfCall('api', action, params);
    const deny = compilePattern(rule, false);
    const named = { action: action.key, args: denyArguments, risk: 'write' } as const;
    return (
      keys.some((key) => deniesKey(deny, key)) ||
      listActionNames(['api'], named).some((name) => couldDeny(deny, name))
    );
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_params' });
    return true;
  }
}

const createIssueParams = (key: JsonValue, name: JsonValue) => ({
  fields: { project: { key }, issuetype: { name } },
});

describe('a deny rule for one of two positions of a key', () => {
  test.for<[what: string, fields: JsonValue]>([
    ['the value', { project: { key: 'SEC' }, issuetype: { name: 'Bug' } }],
    ['the value in other letters', { project: { key: 'sEc' }, issuetype: { name: 'bug' } }],
    ['full-width letters', { project: { key: 'ＳＥＣ' }, issuetype: { name: 'Bug' } }],
    ['invisible characters', { project: { key: 'S\u200bEC' }, issuetype: { name: 'Bug' } }],
    ['blanks around the value', { project: { key: '\tSEC ' }, issuetype: { name: 'Bug' } }],
    ['a list of one', { project: { key: ['SEC'] }, issuetype: { name: 'Bug' } }],
    ['a list of two', { project: { key: ['OPS', 'SEC'] }, issuetype: { name: 'Bug' } }],
    ['null', { project: { key: null }, issuetype: { name: 'Bug' } }],
    ['no value', { issuetype: { name: 'Bug' } }],
    ['an empty object', {}],
    ['a list in place of an object', { project: [{ key: 'SEC' }], issuetype: { name: 'Bug' } }],
    ['a text in place of an object', '{"project":{"key":"SEC"},"issuetype":{"name":"Bug"}}'],
  ])('refuses a call and a request with %s', ([, given]) => {
    for (const rule of ['SEC/*', 'SEC/Bug', '*/Bug']) {
      expect([rule, isCallDenied(`api:issue:${rule}`, issueAction, { fields: given })]).toEqual([
        rule,
        true,
      ]);
      expect([rule, isRequestDenied(`api:issue:${rule}`, '/issue', { fields: given })]).toEqual([
        rule,
        true,
      ]);
    }
  });

  const ops = { project: { key: 'OPS' }, issuetype: { name: 'Task' } };
  test.for<[what: string, body: JsonValue]>([
    ['a member in a second spelling', { fields: { ...ops, Project: { key: 'SEC' } } }],
    ['a value in a second spelling', { fields: { ...ops, project: { key: 'OPS', KEY: 'SEC' } } }],
    ['a second spelling that is empty', { fields: ops, Fields: {} }],
    ['a second spelling that is null', { fields: { ...ops, Project: null } }],
    ['a name with brackets', { fields: { ...ops, 'project[key]': 'SEC' } }],
    ['the whole path as a name', { fields: ops, 'fields.project.key': 'SEC' }],
    ['the end of the path as a name', { fields: { ...ops, 'project.key': 'SEC' } }],
    ['the beginning of the path as a name', { fields: ops, 'fields.project': { key: 'SEC' } }],
    ['the beginning of the path with nothing', { fields: ops, 'fields.project': {} }],
    ['a list within a list', { fields: [[{ project: { key: 'SEC' } }], ops] }],
    ['an item of a list without the member', { fields: [ops, {}] }],
    ['an item of a list that is null', { fields: { ...ops, project: [{ key: 'OPS' }, null] } }],
    ['an object in place of the value', { fields: { ...ops, project: { key: { id: 'OPS' } } } }],
    ['a name that is too long to compare', { fields: { ...ops, ['x'.repeat(257)]: 1 } }],
    ['a number in place of the value', { fields: { ...ops, project: { key: 7 } } }],
    ['a body that is a list', [{ fields: ops }]],
    ['a body that is a text', '{"fields":{"project":{"key":"OPS"}},"fields":{}}'],
  ])('refuses a request that servers may read in another way: %s', ([, body]) => {
    for (const key of ['issue', 'single', 'nested']) {
      const rule = key === 'issue' ? 'api:issue:SEC/Task' : `api:${key}:SEC`;
      expect([key, isRequestDenied(rule, `/${key}`, body)]).toEqual([key, true]);
    }
  });

  test('refuses a call with a dotted name that some servers split', () => {
    const params = { fields: { ...ops, 'project.key': 'SEC' } };
    expect(isCallDenied('api:issue:SEC/Task', issueAction, params)).toBe(true);
  });

  test('refuses ids in any spelling, in each position', () => {
    for (const [rule, key] of [
      ['7/bug', '07'],
      ['007/bug', '7'],
      ['7/*', '7.0'],
      ['7/*', '7-title'],
      ['07/*', '7'],
    ] as const) {
      for (const name of ['Bug', ' bug ']) {
        const params = createIssueParams(key, name);
        expect([key, isCallDenied(`api:issue:${rule}`, issueAction, params)]).toEqual([key, true]);
        expect([key, isRequestDenied(`api:issue:${rule}`, '/issue', params)]).toEqual([key, true]);
      }
    }
    const unknown = { fields: { project: { key: '07' } } };
    expect(isRequestDenied('api:issue:7/bug', '/issue', unknown)).toBe(true);
    expect(isRequestDenied('api:issue:8/bug', '/issue', unknown)).toBe(false);
    expect(isRequestDenied('api:issue:7/bug', '/issue', createIssueParams('8', 'bug'))).toBe(false);
  });

  test('treats slashes and wildcards in values literally', () => {
    expect(isRequestDenied('api:issue:a/b', '/issue', createIssueParams('a/b', 'c'))).toBe(false);
    for (const key of ['a/b', 'A/B', ' a / b ', '/a//b/', 'a%2Fb', 'a\\b/']) {
      const params = createIssueParams(key, 'c');
      expect([key, isRequestDenied('api:issue:a%2Fb/c', '/issue', params)]).toEqual([key, true]);
      expect([key, isCallDenied('api:issue:a%2Fb/c', issueAction, params)]).toEqual([key, true]);
    }
    for (const key of ['*', '**', '%', '%2A', '＊']) {
      const params = createIssueParams(key, 'c');
      expect([key, isCallDenied('api:issue:SEC/*', issueAction, params)]).toEqual([key, false]);
      expect([key, isRequestDenied('api:issue:SEC/*', '/issue', params)]).toEqual([key, false]);
    }
  });

  test('lets other values pass', () => {
    expect(isRequestDenied('api:issue:SEC/*', '/issue', createIssueParams('OPS', 'Bug'))).toBe(
      false,
    );
    expect(isRequestDenied('api:issue:*/Bug', '/issue', createIssueParams('OPS', 'Task'))).toBe(
      false,
    );
    expect(isRequestDenied('api:issue:SEC/Bug', '/issue', createIssueParams('SEC', 'Task'))).toBe(
      false,
    );
    const half = { fields: { project: { key: 'OPS' } } };
    expect(isRequestDenied('api:issue:SEC/*', '/issue', half)).toBe(false);
  });

  test('applies to a position inside a body that is one parameter as a whole', () => {
    const body = { project: { key: 'OPS' }, 'project.key': 'SEC' };
    expect(isRequestDenied('api:whole:SEC/*', '/whole', body)).toBe(true);
    expect(isRequestDenied('api:whole:SEC/*', '/whole', { project: { key: 'OPS' } })).toBe(false);
  });
});

describe('a deny rule for one of several values', () => {
  const to = ['ann@a.example'];
  test.for<[what: string, body: JsonValue]>([
    ['among others', { to: [...to, 'eve@evil.example'] }],
    ['as a blind copy', { to, bcc: ['eve@evil.example'] }],
    ['in capitals', { to, bcc: ['EVE@EVIL.EXAMPLE'] }],
    ['with a display name', { to, cc: ['Eve <eve@evil.example>'] }],
    ['with a slash', { to, cc: ['e/ve@evil.example'] }],
    ['as text in place of a list', { to, cc: 'eve@evil.example' }],
    ['in an address list', { to, cc: ['ann@a.example, eve@evil.example'] }],
    ['in a list of a list', { to, cc: [['eve@evil.example']] }],
    ['in an object', { to, cc: { '0': 'eve@evil.example' } }],
    ['beside null', { to: [...to, null], cc: [] }],
    ['by a second spelling', { to, CC: ['eve@evil.example'] }],
    ['by a name with an index', { to, 'cc[0]': 'eve@evil.example' }],
    ['perhaps in a parameter that is left out', {}],
    ['perhaps in place of an empty list', { to: [] }],
  ])('refuses a request that has the value %s', ([, body]) => {
    expect(isRequestDenied('api:mail:*@evil.example', '/mail', body)).toBe(true);
  });

  test('lets other values pass, also beside empty lists', () => {
    const rule = 'api:mail:*@evil.example';
    expect(isRequestDenied(rule, '/mail', { to })).toBe(false);
    expect(isRequestDenied(rule, '/mail', { to, cc: [], bcc: null })).toBe(false);
    expect(isCallDenied(rule, mailAction, { to, cc: [] })).toBe(false);
  });

  const ann = { email: 'ann@a.example' };
  test.for<[what: string, people: JsonValue]>([
    ['an item with the value', [ann, { email: 'eve@evil.example' }]],
    ['an item without address', [ann, {}]],
    ['an item with null', [ann, { email: null }]],
    ['an item with two addresses', [{ ...ann, Email: 'eve@evil.example' }]],
    ['a text as item', [ann, 'eve@evil.example']],
    ['a list as item', [[{ email: 'eve@evil.example' }]]],
    ['one object in place of a list', { email: 'eve@evil.example' }],
    ['an object with indexes', { '0': { email: 'eve@evil.example' } }],
  ])('refuses a call and a request with %s', ([, given]) => {
    const rule = 'api:people:eve@evil.example';
    expect(isRequestDenied(rule, '/people', { people: given })).toBe(true);
    expect(isCallDenied(rule, peopleAction, { people: given })).toBe(true);
  });

  test('lets items pass that have no list, and refuses lists under another name', () => {
    const rule = 'api:copies:*@evil.example';
    const to = [ann];
    const cc = [{ email: 'eve@evil.example' }];
    for (const given of [[{ to }], [{ to }, { to, cc: [ann] }]]) {
      expect([given, isRequestDenied(rule, '/copies', { people: given })]).toEqual([given, false]);
      expect([given, isCallDenied(rule, copies, { people: given })]).toEqual([given, false]);
    }
    for (const item of [
      { to, cc },
      { to, CC: cc },
      { to, 'cc[0]': cc[0]! },
      { to, cc: [{}] },
    ]) {
      const given = [{ to }, item] as JsonValue;
      expect([item, isRequestDenied(rule, '/copies', { people: given })]).toEqual([item, true]);
    }
  });

  test('refuses a request whose body policy cannot read, though another parameter is given', () => {
    const rule = 'api:mixed:bob';
    for (const body of [undefined, 'to=bob', '{"to":["bob"]}', [{ to: ['bob'] }]]) {
      expect([body, isRequestDenied(rule, '/mixed', body, 'copy=ann')]).toEqual([body, true]);
    }
    expect(isRequestDenied(rule, '/mixed', { to: ['ann'] }, 'copy=Bob')).toBe(true);
    expect(isRequestDenied(rule, '/mixed', {}, 'copy=ann&to=bob')).toBe(true);
    expect(isRequestDenied(rule, '/mixed', {}, 'copy=ann')).toBe(false);
    expect(isRequestDenied(rule, '/mixed', null, 'copy=ann')).toBe(false);
  });

  test('refuses a request that has the value in one of several members, and lets other requests pass', () => {
    const rule = 'api:either:sec';
    const ops = { project: { key: 'OPS' } };
    for (const body of [
      { fields: { project: { key: 'SEC' } } },
      { fields: { ...ops, issuetype: { name: 'SEC' } } },
      { fields: { project: {} } },
      { fields: { ...ops, issuetype: 'SEC' } },
      { fields: ops, people: { '0': { email: 'sec' } } },
      { fields: ops, people: [{}] },
      { fields: { ...ops, 'issuetype.name': 'SEC' } },
    ]) {
      expect([body, isRequestDenied(rule, '/either', body)]).toEqual([body, true]);
    }
    for (const body of [{ fields: ops }, { fields: { ...ops, issuetype: {} }, people: [] }]) {
      expect([body, isRequestDenied(rule, '/either', body)]).toEqual([body, false]);
    }
  });

  test.for<[what: string, body: JsonValue]>([
    ['beside the value', { fields: { project: { key: 'OPS', id: '10002' } } }],
    ['beside the parameter', { fields: { project: { key: 'OPS' } }, update: { project: [] } }],
    ['in a list of values', { fields: { project: [{ key: 'OPS' }, { key: 'OPS', id: '1' }] } }],
  ])('refuses a request with a member that the template does not declare, %s', ([, body]) => {
    expect(isRequestDenied('api:strict:SEC', '/strict', body)).toBe(true);
  });

  test('lets a request pass with members that the template declares or allows', () => {
    for (const fields of [{ project: { key: 'OPS' } }, { project: { key: 'OPS' }, other: 1 }]) {
      expect(isRequestDenied('api:strict:SEC', '/strict', { fields, note: 'x' })).toBe(false);
    }
  });

  test('refuses a request that may have the value in a header', () => {
    expect(isRequestDenied('api:header:bob', '/header', { to: ['ann'] })).toBe(true);
  });

  test('refuses a request with more values than are compared', () => {
    const manyAddresses = Array.from({ length: 200 }, (_, at) => `${at}@a.example`);
    expect(isRequestDenied('api:mail:*@evil.example', '/mail', { to: manyAddresses })).toBe(true);
  });
});
