import { expect, test } from 'vitest';

import type { Connection } from '#contracts/http/connections';
import type { Me } from '#contracts/http/identities';
import type { Secret } from '#contracts/http/secrets';
import type { ConnectedService } from '#contracts/http/services';
import { fixesOf } from './fix-view.ts';

const member = { id: 'me', role: 'member' } as Me;
const admin = { id: 'me', role: 'admin' } as Me;
const mine = { tier: 'user', owner_id: 'me' } as const;
const orgOwned = { tier: 'org', owner_id: null } as const;

const everything = {
  connections: [
    { ...mine, id: 'works', name: 'a', account_label: null, status: 'active', refused_at: null },
    { ...mine, id: 'ended', name: 'b', account_label: 'b@mail', status: 'needs_reauth' },
    { ...mine, id: 'refused', name: 'c', account_label: null, status: 'active', refused_at: 'x' },
    { ...mine, id: 'revoked', name: 'd', account_label: null, status: 'revoked', refused_at: 'x' },
    { ...orgOwned, id: 'org', name: 'e', account_label: null, status: 'needs_reauth' },
    { tier: 'user', owner_id: 'tom', id: 'of tom', name: 'f', status: 'needs_reauth' },
  ] as Connection[],
  secrets: [
    { ...mine, id: 'good secret', name: 'g' },
    { ...mine, id: 'refused secret', name: 'h', refused_at: 'x' },
  ] as Secret[],
  services: [
    { ...mine, id: 'service', name: 'notes', title: 'Notes', tools: { version: 1, waiting: 1 } },
    {
      ...orgOwned,
      id: 'org service',
      name: 'board',
      title: 'Board',
      tools: { version: 1, waiting: 3 },
    },
    { ...mine, id: 'old release', title: 'Old', tools: { version: 1 } },
  ] as unknown as ConnectedService[],
};

test('a person fixes their own problems, and an admin also those of the org', () => {
  const own = ['ended', 'refused', 'refused secret', 'service'];

  expect(fixesOf(everything, member).map(({ id }) => id)).toEqual(own);
  expect(fixesOf(everything, admin).map(({ id }) => id)).toEqual([
    'ended',
    'refused',
    'org',
    'refused secret',
    'service',
    'org service',
  ]);
});

test('an account is connected again on a page of the gateway itself', () => {
  const [ended] = fixesOf(everything, member);

  expect(ended).toMatchObject({
    name: 'b@mail',
    link: { href: '/connect/repair/ended', isExternal: true },
  });
});

test('a refused secret, a missing secret and changed tools are fixed on the pages that show them', () => {
  const missing = [{ kind: 'secret', name: 'org/mail_key', status: 'absent' }];
  const lost = { ...orgOwned, id: 'lost', name: 'mail', title: 'Mail', missing };
  const services = [...everything.services, lost as unknown as ConnectedService];
  const fixes = fixesOf({ ...everything, services }, admin).slice(-4);

  expect(fixes.map(({ link }) => link.href)).toEqual([
    '/services/credentials?show=secrets&open=h',
    '/services/notes#tools',
    '/services/org/board#tools',
    '/services/org/mail#missing',
  ]);
});

test('the sentence about changed tools uses the singular for one tool', () => {
  const sentences = fixesOf(everything, admin)
    .slice(-2)
    .map(({ before, name, after }) => `${before} ${name} ${after}`);

  expect(sentences).toEqual([
    expect.stringMatching(/^One tool of Notes is new/),
    expect.stringMatching(/^3 tools of Board are new/),
  ]);
});
