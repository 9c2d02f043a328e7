import { describe, expect, test } from 'vitest';

import { aService } from './fixtures.testing.ts';
import {
  credentialPathOf,
  filterServices,
  findConnection,
  mayChange,
  fixesOf,
  pathOf,
  pathOfReference,
  sortServices,
  stateOf,
} from './service-view.ts';

describe('the address of a service', () => {
  test('has an additional segment for services of the org', () => {
    expect(pathOf(aService())).toBe('/services/github');
    expect(pathOf(aService({ tier: 'org' }))).toBe('/services/org/github');
    expect(pathOfReference('org/github')).toBe('/services/org/github');
  });

  test('never equals the address of another page', () => {
    expect(pathOf(aService({ name: 'new' }))).toBe('/services/mine/new');
    expect(pathOf(aService({ name: 'credentials' }))).toBe('/services/mine/credentials');
    expect(pathOf(aService({ name: 'new', tier: 'org' }))).toBe('/services/org/new');
    expect(pathOf(aService({ name: 'org' }))).toBe('/services/org');
  });
});

describe('the state of a service', () => {
  const tools = { version: 1, asked_at: null, error: null };
  const missing = [{ kind: 'secret' as const, name: 'github_token', status: 'absent' as const }];
  const refused = [{ kind: 'connection' as const, name: 'github', refused_at: '2026-05-01' }];

  test.for([
    [{}, 'Ready'],
    [{ status: 'disabled' as const, refused }, 'Switched off'],
    [{ status: 'needs_reauth' as const }, 'Account to renew'],
    [{ status: 'needs_credentials' as const, missing }, 'Needs a secret'],
    [{ status: 'needs_credentials' as const }, 'Needs an account'],
    [{ refused }, 'Credential refused'],
    [{ tools: { ...tools, waiting: 1 } }, 'One tool changed'],
    [{ tools: { ...tools, waiting: 3 } }, '3 tools changed'],
    [{ tools: { ...tools, error: 'unavailable' } }, 'Tools cannot be listed'],
    [{ tools }, 'Ready'],
  ] as const)('is described for %j as "$1"', ([differences, words]) => {
    expect(stateOf(aService(differences as object)).words).toBe(words);
  });

  test('links each problem to the page where it can be fixed', () => {
    const service = aService({
      status: 'needs_credentials',
      missing: [
        ...missing,
        { kind: 'connection', name: 'org/github', status: 'needs_reauth', auth_url: 'https://x' },
      ],
      refused,
      tools: { ...tools, waiting: 1 },
    });
    expect(fixesOf(service).map(({ linkLabel, href }) => [linkLabel, href])).toEqual([
      ['Enter it', '/services/github#missing'],
      ['Connect it again', '/services/github#missing'],
      ['Connect it again', '/services/credentials?show=accounts&open=github'],
      ['Look at the difference', '/services/github#tools'],
    ]);
    expect(credentialPathOf('secret', 'org/token')).toBe(
      '/services/credentials?show=secrets&open=org%2Ftoken',
    );
  });
});

test('services to fix come first, and a search compares name, title and template', () => {
  const ready = aService({ title: 'Asana', template: 'asana' });
  const broken = aService({ title: 'Zoom', name: 'calls', status: 'needs_reauth' });
  expect(sortServices([ready, broken])).toEqual([broken, ready]);
  expect(filterServices([ready, broken], 'asa')).toEqual([ready]);
  expect(filterServices([ready, broken], 'calls zoom')).toEqual([broken]);
});

test('an auditor may change nothing, a member their own services, and an admin all services', () => {
  expect(mayChange({ role: 'auditor' }, 'user')).toBe(false);
  expect(mayChange({ role: 'member' }, 'user')).toBe(true);
  expect(mayChange({ role: 'member' }, 'org')).toBe(false);
  expect(mayChange({ role: 'admin' }, 'org')).toBe(true);
});

test('an account is found by its name and tier', () => {
  const ownAccount = { name: 'github', tier: 'user' };
  const orgAccount = { name: 'github', tier: 'org' };
  const connections = [ownAccount, orgAccount] as never[];
  expect(findConnection(connections, 'org/github')).toBe(orgAccount);
  expect(findConnection(connections, 'github')).toBe(ownAccount);
});
