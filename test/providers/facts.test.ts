import { describe, expect, test } from 'vitest';

import type { OauthProvider } from '#contracts/oauth-provider';
import { builtInProviders } from '#providers';
import { fillPlaceholders, providerFacts, scopesOf } from './facts.ts';
import type { ProviderFacts, TokenKind } from './facts.ts';
import { accountSchemes } from './templates.ts';

/**
 * Intended differences between the rows in `oauth-providers/` and the documentation. `about`
 * repeats the difference as the test prints it.
 */
const allowedDifferences: { about: string; reason: string }[] = [
  {
    about:
      'github revocation: json https://api.github.com/applications/{client_id}/grant, not json https://api.github.com/applications/{client_id}/token',
    reason:
      'GitHub has both. The first ends all that the person granted, which is what disconnecting means.',
  },
  {
    about:
      'shopify revocation: none, not other https://acme.myshopify.com/admin/api_permissions/current.json',
    reason: 'It uninstalls the app from the shop, which ends the connections of others too.',
  },
  {
    about: 'slack pkce: false, not supported',
    reason:
      'PKCE is switched on for each app and makes it a public client, but the gateway needs a client secret.',
  },
  {
    about: 'discord pkce: false, not supported',
    reason: 'Discord refuses the scope role_connections.write in a request with PKCE.',
  },
];

/**
 * Returns the entries of `wantedValues` that are not in `documentedValues`, or have another value
 * there.
 */
function findAbsentNames(
  provider: string,
  documentedValues: Readonly<Record<string, string>>,
  wantedValues: Readonly<Record<string, string>>,
): string[] {
  return Object.entries(wantedValues)
    .filter(
      ([name, value]) =>
        fillPlaceholders(provider, documentedValues[name] ?? '') !==
        fillPlaceholders(provider, value),
    )
    .map(([name, value]) => `${name}=${value}`);
}

/**
 * Returns the differences between a row and the facts, each as `provider field: value in the row,
 * not documented value`.
 */
function differencesOf(row: OauthProvider, facts: ProviderFacts): string[] {
  const { key } = row;
  const foundDifferences: string[] = [];
  const compareField = (
    field: string,
    ownValue: string | boolean,
    documented: string | boolean,
  ) => {
    if (facts.doubtful.some((doubtful) => doubtful === field)) return;
    if (ownValue !== documented)
      foundDifferences.push(`${key} ${field}: ${ownValue}, not ${documented}`);
  };
  const fillUrl = (text: string) => fillPlaceholders(key, text);
  const describeRevocation = (from?: { style: string; url: string }) =>
    from === undefined ? 'none' : `${from.style} ${fillUrl(from.url)}`;
  const expectOneOf = (field: string, ownValue: string, documented: readonly string[]) =>
    compareField(
      field,
      ownValue,
      documented.includes(ownValue) ? ownValue : documented.join(' or '),
    );
  const expectNothingAbsent = (field: string, absentNames: readonly string[]) =>
    compareField(
      field,
      absentNames.length === 0 ? 'all' : `without ${absentNames.join(' ')}`,
      'all',
    );

  compareField(
    'authorization_url',
    fillUrl(row.authorization_url),
    fillUrl(facts.authorization_url),
  );
  compareField('token_url', fillUrl(row.token_url), fillUrl(facts.token_url));
  compareField(
    'revocation',
    describeRevocation(row.revocation),
    describeRevocation(facts.revocation),
  );
  compareField(
    'pkce',
    row.pkce ? 'supported' : 'false',
    facts.pkce === 'ignored' ? 'false' : 'supported',
  );
  const authentications = { basic: 'client_secret_basic', body: 'client_secret_post' };
  expectOneOf(
    'client_authentication',
    row.client_authentication,
    facts.client_authentication.map((each) => authentications[each]),
  );
  expectOneOf('token_request', row.token_request, facts.token_request ?? [row.token_request]);
  const { refresh_needs: refresh } = facts;
  expectNothingAbsent('authorize_parameters', [
    ...findAbsentNames(key, row.authorize_parameters, facts.authorize_parameters),
    ...findAbsentNames(key, row.authorize_parameters, refresh.authorize_parameters),
  ]);
  expectNothingAbsent(
    'token_parameters',
    findAbsentNames(key, row.token_parameters, refresh.token_parameters),
  );
  expectNothingAbsent(
    'scopes_always',
    refresh.scopes.filter((scope) => !row.scopes_always.includes(scope)),
  );
  const { at, scope } = row.token_answer;
  const grantedScopesAt = at === undefined ? scope : `${at}.${scope}`;
  compareField(
    'scope_separator',
    row.scope_separator,
    facts.scope_separator ?? row.scope_separator,
  );
  compareField(
    'scope_parameter',
    row.scope_parameter,
    facts.scope_parameter ?? row.scope_parameter,
  );
  compareField('granted_scopes_at', grantedScopesAt, facts.granted_scopes_at ?? grantedScopesAt);
  return foundDifferences;
}

/**
 * Returns the scopes that tokens of this kind cannot have. For each scope, names the kinds of
 * tokens that can have it.
 */
function unknownScopes(
  facts: ProviderFacts,
  scopes: readonly string[],
  kind: TokenKind = 'user',
): string[] {
  const knownScopes = scopesOf(facts, kind);
  const otherTokenKinds = (['user', 'bot', 'app'] as const)
    .filter((token) => token !== kind)
    .map((token) => [token, scopesOf(facts, token)] as const);
  return scopes
    .filter((scope) => !knownScopes.includes(scope))
    .map((scope) => {
      const tokenKindsWithScope = otherTokenKinds
        .filter(([, names]) => names.includes(scope))
        .map(([token]) => token);
      return tokenKindsWithScope.length === 0
        ? scope
        : `${scope} (only of ${tokenKindsWithScope.join(' and ')} tokens)`;
    });
}

function getRow(key: string): OauthProvider {
  const row = builtInProviders().get(key);
  if (!row) throw new Error(`oauth-providers/ has no ${key}.yaml`);
  return row;
}

const providers = [...providerFacts].map(([key, facts]) => ({ key, facts, row: getRow(key) }));

describe('the rows in oauth-providers/', () => {
  test('differ from the documentation of the provider only where a difference is listed as intended', () => {
    const foundDifferences = providers.flatMap(({ row, facts }) => differencesOf(row, facts));

    expect(foundDifferences.toSorted()).toEqual(
      allowedDifferences.map(({ about }) => about).toSorted(),
    );
  });

  test.for(providers)(
    'for $key contain and imply only scopes that the provider documents',
    ({ row, facts }) => {
      const { scopes = {} } = row;
      if (scopes === 'opaque') return;
      const documented = new Set([
        ...scopesOf(facts, 'user'),
        ...scopesOf(facts, 'bot'),
        ...scopesOf(facts, 'app'),
      ]);
      const namedScopes = Object.entries(scopes).flatMap(([scope, { implies = [] }]) => [
        scope,
        ...implies,
      ]);
      expect(namedScopes.filter((scope) => !documented.has(scope))).toEqual([]);
      for (const [scope, { acts_as: kind }] of Object.entries(scopes)) {
        if (kind === undefined) continue;
        const tokenKinds = (['user', 'bot', 'app'] as const).filter((token) =>
          scopesOf(facts, token).includes(scope),
        );
        expect.soft(tokenKinds, scope).toEqual([kind]);
      }
    },
  );

  test.for(providers)(
    'for $key ask by default only for scopes that users can grant',
    ({ row, facts }) => {
      expect(unknownScopes(facts, [...row.scopes_always, ...row.scopes_default])).toEqual([]);
    },
  );
});

/** The OAuth schemes of the built-in templates, each with the facts about its provider. */
const schemes = accountSchemes.flatMap((each) => {
  const facts = providerFacts.get(each.scheme.provider);
  return facts === undefined ? [] : [{ ...each, facts }];
});

describe('the built-in template', () => {
  test.for(schemes)(
    '$key has the URLs of its provider, and only scopes that its kind of token can have',
    ({ scheme: { provider, acts_as: kind }, flow, facts, actions }) => {
      const fillUrl = (text: string) => fillPlaceholders(provider, text);

      expect([flow.authorizationUrl, flow.tokenUrl].map(fillUrl)).toEqual(
        [facts.authorization_url, facts.token_url].map(fillUrl),
      );
      expect(unknownScopes(facts, Object.keys(flow.scopes), kind)).toEqual([]);
      for (const { action, scopes } of actions) {
        expect.soft(unknownScopes(facts, scopes, kind), action).toEqual([]);
      }
    },
  );

  test.for(schemes)(
    '$key asks for a scope together with the scopes that the provider requires for it',
    ({ scheme: { provider }, facts, actions }) => {
      const scopesAlways = getRow(provider).scopes_always;
      for (const { action, scopes } of actions) {
        const absentScopes = scopes
          .flatMap((scope) => facts.scope_requires[scope] ?? [])
          .filter((scope) => !scopes.includes(scope) && !scopesAlways.includes(scope));
        expect.soft(absentScopes, action).toEqual([]);
      }
    },
  );

  test('has a provider that is described in facts/', () => {
    const providersOfTemplates = new Set(accountSchemes.map(({ scheme }) => scheme.provider));

    expect([...providersOfTemplates].filter((key) => !providerFacts.has(key))).toEqual([]);
    expect(providersOfTemplates.size).toBeGreaterThan(20);
  });
});
