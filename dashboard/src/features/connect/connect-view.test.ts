import { describe, expect, test } from 'vitest';

import type { Connection } from '#contracts/http/connections';
import type { Rule } from '#contracts/http/rules';
import type { Secret } from '#contracts/http/secrets';
import {
  shortenSummary,
  firstNameOf,
  findFittingConnections,
  findFittingSecrets,
  preselectScopes,
  findFirstWayIndex,
  findFreeName,
  hidesOrgService,
  hostsOfSecret,
  hostsOf,
  isUsable,
  findMissingScopes,
  namesIn,
  rulesOnName,
  secretLabel,
  variableLabel,
  wayLabel,
  waysOf,
} from './connect-view.ts';
import type { NeededConnection, NeededSecret } from './connect-view.ts';

const token: NeededSecret = {
  kind: 'secret',
  scheme: 'token',
  default_secret_name: 'github_token',
  sent_as: 'Authorization: Bearer',
  encoding: 'raw',
};
const account: NeededConnection = {
  kind: 'connection',
  scheme: 'oauth',
  provider: 'slack',
  scopes: ['chat:write'],
};
const createSecret = (fields: Partial<Secret>) =>
  ({ name: 'other', tier: 'user', allowed_hosts: [], ...fields }) as Secret;
const createConnection = (fields: Partial<Connection>) =>
  ({
    name: 'slack',
    provider: 'slack',
    tier: 'user',
    status: 'active',
    granted_scopes: [],
    ...fields,
  }) as Connection;

const app: NeededSecret = {
  ...token,
  default_secret_name: 'zoom_app',
  parts: [
    { name: 'client_id', label: 'Client ID', secret: false, optional: false },
    { name: 'client_secret', label: 'Client secret', secret: true, optional: false },
    { name: 'scopes', label: 'Scopes', secret: false, optional: true },
  ],
  token_hosts: ['id.example.com'],
};

describe('a secret with several parts', () => {
  test('is labelled with the parts that it requires', () => {
    expect(secretLabel(app)).toBe('Client ID and Client secret');
  });

  test('is also sent to the host of the token URL, and is offered only under the suggested name', () => {
    const hosts = hostsOfSecret(app, ['api.example.com']);
    expect(hosts).toEqual(['api.example.com', 'id.example.com']);
    const stored = [
      createSecret({ name: 'zoom_app' }),
      createSecret({ name: 'other', allowed_hosts: hosts }),
    ];
    const fitting = findFittingSecrets(stored, { needed: app, hosts, tier: 'user' });
    expect(fitting.map(({ name }) => name)).toEqual(['zoom_app']);
  });
});

describe('the ways to connect', () => {
  test('are those of the template; a template without credentials has one empty way', () => {
    expect(waysOf({ ways: [[account], [token]] })).toEqual([
      { secrets: [], account },
      { secrets: [token], account: null },
    ]);
    expect(waysOf({ ways: [] })).toEqual([{ secrets: [], account: null }]);
    expect(waysOf({})).toEqual([{ secrets: [], account: null }]);
  });

  test.for([
    [{ secrets: [], account }, 'An account at Slack'],
    [{ secrets: [token], account: null }, 'Access token'],
    [{ secrets: [token, token], account: null }, '2 keys'],
    [{ secrets: [], account: null }, 'No credential is needed'],
    [{ secrets: [token], account }, 'An account at Slack and access token'],
  ] as const)('have the label "$1"', ([way, label]) => {
    expect(wayLabel(way, 'Slack')).toBe(label);
  });

  test('have a label for each field, which names the credential', () => {
    expect(secretLabel({ ...token, encoding: 'basic' })).toContain('name:password');
    expect(secretLabel({ ...token, sent_as: 'DD-API-KEY:' })).toBe('API key (DD-API-KEY)');
    expect(secretLabel({ ...token, label: 'The token of a bot' })).toBe('The token of a bot');
    expect(variableLabel('shop')).toBe('Shop');
    expect(variableLabel('account_id')).toBe('Account ID');
  });

  test.for([
    { ways: ['account', 'token', 'app'], hasApp: true, first: 'account' },
    { ways: ['account', 'token', 'app'], hasApp: false, first: 'token' },
    { ways: ['app', 'token'], hasApp: false, first: 'token' },
    { ways: ['account', 'app'], hasApp: false, first: 'account' },
    { ways: ['app'], hasApp: false, first: 'app' },
  ] as const)(
    '$ways lead to the preselection of $first (provider app: $hasApp)',
    ({ ways, hasApp, first }) => {
      const waysByName = {
        account: { secrets: [], account },
        token: { secrets: [token], account: null },
        app: { secrets: [app], account: null },
      };
      const at = findFirstWayIndex(
        ways.map((name) => waysByName[name]),
        (way) => way.account === null || hasApp,
      );
      expect(ways[at]).toBe(first);
    },
  );
});

describe('a name for a secret or connection', () => {
  test('gets a number if it is taken, and has at most 63 characters', () => {
    expect(findFreeName('github', [])).toBe('github');
    expect(findFreeName('github', ['github', 'github_2'])).toBe('github_3');
    const long = 'a'.repeat(63);
    expect(findFreeName(long, [long])).toBe(`${'a'.repeat(61)}_2`);
  });

  test('is taken only by names in the same tier', () => {
    const services = [
      { name: 'org/github', tier: 'org' },
      { name: 'mine', tier: 'user' },
    ] as const;
    expect(namesIn(services, 'org')).toEqual(['github']);
    expect(namesIn(services, 'user')).toEqual(['mine']);
  });
});

describe('the preselected scopes', () => {
  const accountWithPresets: NeededConnection = {
    ...account,
    scopes: ['chat:read', 'chat:write', 'users:read'],
    presets: { read_only: ['chat:read', 'users:read'], read_and_change: ['chat:write'] },
    scopes_of_actions: { post: ['chat:write'], list: ['chat:read'], find: ['chat:read'] },
  };

  test('are those of the request, else those for its actions, else those for reading', () => {
    const first = (scopes: string[], actions: string[]) =>
      preselectScopes(accountWithPresets, { scopes, actions });
    expect(first(['other'], ['post'])).toEqual(['other']);
    expect(first([], ['post', 'list', 'find'])).toEqual(['chat:write', 'chat:read']);
    expect(first([], ['unknown'])).toEqual(['chat:read', 'users:read']);
    expect(preselectScopes(account, { scopes: [], actions: [] })).toEqual(['chat:write']);
  });

  test('belong to a way to connect that has the label of the template', () => {
    const labelledAccount = { ...account, label: 'A bot of your workspace' };
    expect(wayLabel({ secrets: [], account: labelledAccount }, 'Slack')).toBe(
      'A bot of your workspace',
    );
  });
});

describe('an existing credential', () => {
  test('is offered if its name or its hosts match, in the same tier', () => {
    const all = [
      createSecret({ name: 'fits', allowed_hosts: ['api.github.com', 'b.example'] }),
      createSecret({ name: 'elsewhere', allowed_hosts: ['b.example'] }),
      createSecret({ name: 'github_token' }),
      createSecret({ name: 'github_token', tier: 'org' }),
    ];
    const secretPlace = { needed: token, hosts: ['api.github.com'], tier: 'user' } as const;
    expect(findFittingSecrets(all, secretPlace).map(({ name }) => name)).toEqual([
      'github_token',
      'fits',
    ]);
    expect(findFittingSecrets([createSecret({})], { ...secretPlace, hosts: [] })).toEqual([]);
    expect(
      findFittingSecrets([createSecret({})], { ...secretPlace, chosen: 'other' }),
    ).toHaveLength(1);
  });

  test('is offered last if the provider refused it, and a refused account is not usable', () => {
    const refused_at = '2026-05-01T09:00:00.000Z';
    const all = [
      createSecret({ name: 'github_token', refused_at }),
      createSecret({ name: 'fits', allowed_hosts: ['api.github.com'] }),
    ];
    const secretPlace = { needed: token, hosts: ['api.github.com'], tier: 'user' } as const;
    expect(findFittingSecrets(all, secretPlace).map(({ name }) => name)).toEqual([
      'fits',
      'github_token',
    ]);
    const accounts = [
      createConnection({ name: 'refused', refused_at }),
      createConnection({ name: 'works' }),
    ];
    const fitting = findFittingConnections(accounts, { account, tier: 'user' });
    expect(fitting.map((each) => [each.name, isUsable(each)])).toEqual([
      ['works', true],
      ['refused', false],
    ]);
  });

  test('is offered if it is an account at the same provider; working accounts come first', () => {
    const all = [
      createConnection({ name: 'ended', status: 'needs_reauth' }),
      createConnection({ name: 'revoked', status: 'revoked' }),
      createConnection({ name: 'other', provider: 'mock' }),
      createConnection({ name: 'bot', acts_as: 'bot' }),
      createConnection({ name: 'works' }),
    ];
    const fitting = findFittingConnections(all, { account, tier: 'user' });
    expect(fitting.map(({ name }) => name)).toEqual(['works', 'ended']);
    expect(findMissingScopes(createConnection({ granted_scopes: ['a'] }), ['a', 'b'])).toEqual([
      'b',
    ]);
    const modifyingConnection = createConnection({
      granted_scopes: ['modify'],
      implied_scopes: ['read'],
    });
    expect(findMissingScopes(modifyingConnection, ['read', 'send'])).toEqual(['send']);
  });
});

test.for([
  [{ base_url: 'https://api.github.com', hosts: ['api.github.com'] }, {}, '', ['api.github.com']],
  [{ base_url: 'https://{site}.atlassian.net', hosts: [] }, {}, '', []],
  [{ base_url: 'https://{site}.atlassian.net', hosts: [] }, { site: '' }, '', []],
  [{ base_url: 'https://s3.{region}.amazonaws.com', hosts: [] }, { region: '' }, '', []],
  [
    { base_url: 'https://{site}.atlassian.net', hosts: ['x.example'] },
    { site: 'acme' },
    '',
    ['acme.atlassian.net', 'x.example'],
  ],
  [
    { base_url: 'https://a.example', hosts: ['a.example'] },
    {},
    'https://b.example/x',
    ['b.example'],
  ],
  [{ hosts: ['a.example'] }, {}, '', ['a.example']],
] as const)(
  'for the template %j, the variables %j and the address %j, the form shows the hosts $3',
  ([template, variables, baseUrl, hosts]) => {
    expect(hostsOf({ ...template, hosts: [...template.hosts] }, { variables, baseUrl })).toEqual(
      hosts,
    );
  },
);

test('a shortened action summary has … in place of values', () => {
  expect(shortenSummary('List issues of {repository}[ with state {state}]')).toBe(
    'List issues of …',
  );
});

describe('the name of a new service', () => {
  const createRule = (pattern: string, fields: Partial<Rule> = {}) =>
    ({ pattern, effect: 'allow', service_id: null, ...fields }) as Rule;
  const org = { name: 'org/github', tier: 'org' as const };

  test('is compared with allow rules that contain it and are not bound to a service', () => {
    const rules = [
      createRule('github:issues.create:*'),
      createRule('github:*:*', { service_id: 'old' }),
      createRule('github:*:*', { effect: 'deny' }),
      createRule('*:*:*'),
      createRule('org/github:*:*'),
    ];
    expect(rulesOnName(rules, 'github')).toEqual([rules[0]]);
    expect(rulesOnName(rules, 'org/github')).toEqual([rules[4]]);
  });

  test.for<[string, Parameters<typeof firstNameOf>[1], string]>([
    ['the wanted name', { services: [], rules: [], tier: 'user' }, 'github'],
    [
      'another name, because the org has a service of the wanted name',
      { services: [org], rules: [], tier: 'user' },
      'github_2',
    ],
    [
      'another name, because a rule contains the wanted name',
      { services: [], rules: [createRule('github:*:*')], tier: 'user' },
      'github_2',
    ],
    [
      'the wanted name for the org, although a rule names a service of a user so',
      { services: [], rules: [createRule('github:*:*')], tier: 'org' },
      'github',
    ],
  ])('is suggested: %s', ([, given, name]) => {
    expect(firstNameOf('github', given)).toBe(name);
  });

  test('hides a service of the org only if the names are equal and the new service is for a user', () => {
    expect(hidesOrgService([org], { name: 'github', tier: 'user' })).toBe(true);
    expect(hidesOrgService([org], { name: 'github_2', tier: 'user' })).toBe(false);
    expect(hidesOrgService([org], { name: 'github', tier: 'org' })).toBe(false);
  });
});
