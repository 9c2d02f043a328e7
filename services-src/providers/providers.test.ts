import { describe, expect, test } from 'vitest';

import {
  builtInProviders,
  fillProvider,
  findProviderAt,
  hasProviderUrls,
  readVariables,
} from './index.ts';

const rows = [...builtInProviders().values()];
const getProvider = (key: string) => {
  const row = builtInProviders().get(key);
  if (row === undefined) throw new Error(`no row ${key}`);
  return row;
};

describe('a built-in OAuth provider', () => {
  test.for(rows.map((row) => [row.key, row] as const))(
    '(%s) has valid addresses, and patterns for variables that cannot change the host',
    ([, row]) => {
      const addresses = [
        row.authorization_url,
        row.token_url,
        row.refresh_url,
        row.issuer,
        row.revocation?.url,
        row.account?.url === 'answer' ? undefined : row.account?.url,
      ].filter((each) => each !== undefined);
      for (const address of addresses) {
        expect(address).toMatch(/^https:/);
        const variables = [...address.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
        for (const name of variables) {
          expect(['client_id', ...Object.keys(row.variables)]).toContain(name);
        }
      }
      for (const { default: value, pattern } of Object.values(row.variables)) {
        if (value !== undefined) expect(value).toMatch(new RegExp(`^(?:${pattern})$`));
      }
      expect(row.hosts.length > 0 || row.host_of_answer !== undefined).toBe(true);
      expect(row.app_page).toMatch(/^https:/);
      // Each provider calls the redirect URI and the client id by other names, so the steps say where
      // they belong.
      if (row.steps !== undefined) {
        const steps = row.steps.join(' ');
        expect(steps).toMatch(/redirect URI/);
        expect(steps).toMatch(/client ID/i);
      }
      // The value of a variable must not be able to change the URL's host.
      for (const { pattern } of Object.values(row.variables)) {
        for (const evilText of [
          'evil.example/',
          'a@evil.example',
          'a.evil.example#',
          '../x',
          'a b',
          '',
        ]) {
          expect(evilText).not.toMatch(new RegExp(`^(?:${pattern})$`));
        }
      }
    },
  );

  test('with variables is filled in with the given values or the defaults, and refuses other variables', () => {
    const microsoft = getProvider('microsoft');
    expect(readVariables(microsoft, {})).toEqual({ values: { tenant: 'common' } });
    const filled = fillProvider(microsoft, { values: { tenant: 'acme.example' }, clientId: 'x' });
    expect(filled.token_url).toBe(
      'https://login.microsoftonline.com/acme.example/oauth2/v2.0/token',
    );
    for (const given of [{ tenant: 'a/b' }, { tenant: '..' }, { other: 'x' }]) {
      expect(readVariables(microsoft, given)).toHaveProperty('problems');
    }
    expect(readVariables(getProvider('okta'), {})).toHaveProperty('problems');
    expect(
      readVariables(getProvider('okta'), { domain: 'acme.okta.com.evil.example' }),
    ).toHaveProperty('problems');
    const github = fillProvider(getProvider('github'), { values: {}, clientId: 'a/b' });
    expect(github.revocation?.url).toBe('https://api.github.com/applications/a%2Fb/grant');
  });

  test('is recognised by its own URLs, and by no others', () => {
    const urls = {
      authorizationUrl: 'https://acme.zendesk.com/oauth/authorizations/new',
      tokenUrl: 'https://acme.zendesk.com/oauth/tokens',
    };
    expect(hasProviderUrls('zendesk', urls)).toBe(true);
    expect(findProviderAt(urls.authorizationUrl)?.key).toBe('zendesk');
    expect(findProviderAt('https://accounts.google.com/o/oauth2/auth')?.key).toBe('google');
    expect(findProviderAt('https://id.example.com/authorize')).toBeUndefined();
    for (const tokenUrl of [
      'https://evil.example/oauth/tokens',
      'https://acme.zendesk.com.evil.example/oauth/tokens',
      'https://a/b.zendesk.com/oauth/tokens',
      'http://acme.zendesk.com/oauth/tokens',
    ]) {
      expect(hasProviderUrls('zendesk', { ...urls, tokenUrl })).toBe(false);
    }
    expect(hasProviderUrls('of-an-org', urls)).toBe(true);
  });
});
