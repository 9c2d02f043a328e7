import { describe, expect, it } from 'vitest';

import type { CredentialDerivation } from '../contracts/credential-derivation.ts';
import { derivationAt, tokenHostOf } from './derivation.ts';

const createBearerDerivation = (tokenUrl: string): CredentialDerivation => ({
  kind: 'jwt_bearer',
  required: [],
  secret: [],
  tokenUrl,
  parameters: { resource: '{origin}/api' },
  body: 'form',
  scopes: [],
  issuer: '{client_id}',
  subject: null,
  audience: '{origin}/',
});

describe('derivationAt', () => {
  it.each([
    ['/oauth/token', 'https://acme.example.com/oauth/token'],
    ['app/{id}/tokens', 'https://acme.example.com/api/v3/app/{id}/tokens'],
    ['https://id.example.com/token', 'https://id.example.com/token'],
  ])('reads the token URL %s as relative to the service', (tokenUrl, expected) => {
    expect(
      derivationAt(createBearerDerivation(tokenUrl), 'https://acme.example.com/api/v3'),
    ).toMatchObject({
      tokenUrl: expected,
      parameters: { resource: 'https://acme.example.com/api' },
      issuer: '{client_id}',
      audience: 'https://acme.example.com/',
    });
  });
});

describe('the region of a signature', () => {
  const signatureDerivation: CredentialDerivation = {
    kind: 'aws_sigv4',
    required: [],
    secret: [],
    service: 's3',
    region: '{region}',
  };
  const server = {
    url: 'https://s3.{region}.amazonaws.com/',
    variables: [],
    baseUrlAllowed: true,
  };

  it.each([
    ['https://s3.eu-west-1.amazonaws.com', 'eu-west-1'],
    ['https://s3.EU-west-1.amazonaws.com/', 'eu-west-1'],
    // At any other address, a part of the secret gives the region.
    ['https://storage.example.com', '{region}'],
    ['https://s3.a.b.amazonaws.com', '{region}'],
    ['https://s3.eu-west-1.amazonaws.com.evil.example', '{region}'],
  ])('of a service at %s is %s', (baseUrl, region) => {
    expect(derivationAt(signatureDerivation, baseUrl, server)).toEqual({
      ...signatureDerivation,
      region,
    });
    expect(tokenHostOf(signatureDerivation)).toBe(null);
  });
});

describe('tokenHostOf', () => {
  it('returns the host only of an absolute token URL', () => {
    expect(tokenHostOf(createBearerDerivation('https://id.example.com/token'))).toBe(
      'id.example.com',
    );
    expect(tokenHostOf(createBearerDerivation('/token'))).toBe(null);
    expect(tokenHostOf(undefined)).toBe(null);
  });
});
