import { describe, expect, test } from 'vitest';

import { compileExample } from '../../compiler/domain/compile-example.testing.ts';
import type { FindingCode } from '../../document/domain/findings.ts';

type SchemeFields = Record<string, unknown>;

const parts = [
  { name: 'account_id', label: 'Account ID' },
  { name: 'client_id', label: 'Client ID' },
  { name: 'client_secret', label: 'Client secret' },
];

function grantScheme(flowFields: SchemeFields = {}, otherFields: SchemeFields = {}): SchemeFields {
  return {
    type: 'oauth2',
    default_secret_name: 'zoom_app',
    parts,
    flows: {
      clientCredentials: { tokenUrl: 'https://id.example.com/token', scopes: {}, ...flowFields },
    },
    ...otherFields,
  };
}

/** A text of the greatest length that one parameter may have. */
const longestText = 'x'.repeat(2_000);

function compileWith(scheme: SchemeFields) {
  const { template, report } = compileExample((document) => {
    document.components.securitySchemes['token'] = scheme;
  });
  return { method: template?.auth[0], errors: report.errors.map(({ code }) => code) };
}

describe('a scheme with the flow clientCredentials', () => {
  test('becomes a secret of several parts for which the executor gets tokens', () => {
    const grant = {
      parameters: { account_id: '{account_id}' },
      client_authentication: 'client_secret_post',
    };
    expect(compileWith(grantScheme({ scopes: { read: 'Read' } }, { grant })).method).toEqual({
      type: 'apiKey',
      scheme: 'token',
      in: 'header',
      name: 'Authorization',
      prefix: 'Bearer ',
      encoding: 'derived',
      defaultSecretName: 'zoom_app',
      parts: [
        { ...parts[0], secret: false, optional: false },
        { ...parts[1], secret: false, optional: false },
        // A part with this name is always secret.
        { ...parts[2], secret: true, optional: false },
      ],
      derivation: {
        kind: 'client_credentials',
        authentication: 'client_secret_post',
        tokenUrl: 'https://id.example.com/token',
        parameters: { account_id: '{account_id}' },
        body: 'form',
        scopes: ['read'],
        required: ['account_id', 'client_id', 'client_secret'],
        secret: ['client_secret'],
      },
    });
  });

  test.for([
    '/oauth/token',
    'app/installations/{account_id}/tokens',
    'https://id.example.com/v1/{account_id}',
  ])('accepts the token URL %s', (tokenUrl) => {
    expect(compileWith(grantScheme({ tokenUrl })).errors).toEqual([]);
  });

  test.for([
    '//evil.example/token',
    'http://id.example.com/token',
    'https://{account_id}.example.com/token',
    'https://{account_id}/token',
    'https://user@id.example.com/token',
    'https://id.example.com/token?a=b',
    'https://id.example.com/../token',
    '/a/{account_id}b',
    '/token#x',
    '',
  ])('refuses the token URL %s', (tokenUrl) => {
    expect(compileWith(grantScheme({ tokenUrl })).errors).not.toEqual([]);
  });

  test.for<[what: string, code: FindingCode, scheme: SchemeFields]>([
    ['without parts', 'security_scheme_invalid', grantScheme({}, { parts: [] })],
    [
      'that lacks a part of its grant',
      'security_scheme_invalid',
      grantScheme({}, { parts: parts.slice(0, 2) }),
    ],
    [
      'whose part has no label',
      'required_field_missing',
      grantScheme({}, { parts: [...parts, { name: 'more' }] }),
    ],
    [
      'with two parts of one name',
      'security_scheme_invalid',
      grantScheme({}, { parts: [...parts, parts[0]] }),
    ],
    [
      'with a part called like the origin of the service',
      'security_scheme_invalid',
      grantScheme({}, { parts: [...parts, { name: 'origin', label: 'Origin' }] }),
    ],
    [
      'that fills in an unknown part',
      'security_scheme_invalid',
      grantScheme({}, { grant: { parameters: { tenant: '{tenant}' } } }),
    ],
    [
      'of an unknown grant',
      'security_scheme_invalid',
      grantScheme({}, { grant: { type: 'password' } }),
    ],
    [
      'that puts a secret part into the token URL',
      'security_scheme_invalid',
      grantScheme({ tokenUrl: 'oauth/{client_secret}/token' }),
    ],
    [
      'with longer parameters than a permit can hold',
      'out_of_bounds',
      grantScheme(
        {},
        {
          grant: { parameters: { a: longestText, b: longestText, c: longestText, d: longestText } },
        },
      ),
    ],
    ['with an unknown field', 'unknown_field', grantScheme({}, { grant: { tokenUrl: '/x' } })],
    [
      'without a secret name',
      'required_field_missing',
      grantScheme({}, { default_secret_name: undefined }),
    ],
    [
      'that sends its secret as it is, with parts',
      'security_scheme_invalid',
      { type: 'http', scheme: 'bearer', default_secret_name: 'a', parts },
    ],
  ])('is refused %s', ([, code, scheme]) => {
    expect(compileWith(scheme).errors).toContain(code);
  });

  test('sends the token in the header that it names', () => {
    const method = compileWith(grantScheme({}, { grant: { header: 'X-Token' } })).method;
    expect(method).toMatchObject({ in: 'header', name: 'X-Token', prefix: '' });
    for (const header of ['Host', 'Cookie']) {
      expect(compileWith(grantScheme({}, { grant: { header } })).errors).toContain(
        'header_not_allowed',
      );
    }
  });

  test('takes an assertion, whose claims are filled from the parts', () => {
    const grant = {
      type: 'jwt_bearer',
      issuer: '{client_id}',
      audience: '{origin}/',
      subject: '{user}',
    };
    const keys = [
      { name: 'client_id', label: 'Client ID' },
      { name: 'user', label: 'User', optional: true },
      { name: 'private_key', label: 'Private key' },
    ];
    expect(compileWith(grantScheme({}, { grant, parts: keys })).method).toMatchObject({
      derivation: {
        kind: 'jwt_bearer',
        issuer: '{client_id}',
        subject: '{user}',
        audience: '{origin}/',
        required: ['client_id', 'private_key'],
        secret: ['private_key'],
      },
    });
    const incompleteGrant = { ...grant, audience: undefined };
    expect(compileWith(grantScheme({}, { grant: incompleteGrant, parts: keys })).errors).toContain(
      'required_field_missing',
    );
  });
});
