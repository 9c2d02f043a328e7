import { describe, expect, test } from 'vitest';

import type { JsonObject } from '../../document/domain/context.ts';
import { importChanged } from './import-changed.testing.ts';

describe('the security of an imported document', () => {
  const importSchemes = (securitySchemes: JsonObject, documentFields: JsonObject = {}) =>
    importChanged((d) => Object.assign(d, { components: { securitySchemes } }, documentFields));
  const flow = {
    authorizationUrl: 'https://accounts.example.com/auth',
    tokenUrl: 'https://accounts.example.com/token',
    scopes: { read: 'Read' },
  };

  test.for<[what: string, scheme: JsonObject, becomes: object]>([
    [
      'a header',
      { type: 'apiKey', in: 'header', name: 'X-Key' },
      { type: 'apiKey', in: 'header', name: 'X-Key', defaultSecretName: 'pet_store_my_auth' },
    ],
    ['the query', { type: 'apiKey', in: 'query', name: 'key' }, { in: 'query', name: 'key' }],
    [
      'a bearer token',
      { type: 'http', scheme: 'Bearer' },
      { name: 'Authorization', prefix: 'Bearer ' },
    ],
    [
      'user and password',
      { type: 'http', scheme: 'basic' },
      { prefix: 'Basic ', encoding: 'basic' },
    ],
    [
      'an authorization code',
      { type: 'oauth2', flows: { authorizationCode: flow } },
      { type: 'oauth2', provider: 'example', scopes: ['read'] },
    ],
    [
      'another OAuth flow',
      { type: 'oauth2', flows: { clientCredentials: flow } },
      { type: 'apiKey', prefix: 'Bearer ' },
    ],
    [
      'OpenID Connect',
      { type: 'openIdConnect', openIdConnectUrl: 'http://169.254.169.254/' },
      { prefix: 'Bearer ' },
    ],
  ])('has its scheme with %s converted', ([, scheme, becomes]) => {
    expect(importSchemes({ myAuth: scheme }).template?.auth).toMatchObject([
      { scheme: 'myAuth', ...becomes },
    ]);
  });

  test.for<[what: string, scheme: JsonObject]>([
    ['a cookie', { type: 'apiKey', in: 'cookie', name: 'session' }],
    ['HTTP digest authentication', { type: 'http', scheme: 'digest' }],
    [
      'a request signature',
      {
        type: 'apiKey',
        in: 'header',
        name: 'Authorization',
        'x-amazon-apigateway-authtype': 'awsSigv4',
      },
    ],
    ['a header that the gateway sets', { type: 'apiKey', in: 'header', name: 'Host' }],
    ['a parameter that changes the method', { type: 'apiKey', in: 'query', name: '_method' }],
    ['a client certificate', { type: 'mutualTLS' }],
  ])('leaves out and reports a scheme with %s', ([, scheme]) => {
    const { template, codes } = importSchemes({ myAuth: scheme }, { security: [{ myAuth: [] }] });
    expect(template).toMatchObject({ auth: [], security: [] });
    expect(codes).toContain('auth_unsupported');
  });

  test('is that of the operations when the document itself has no security', () => {
    const bearer = { type: 'http', scheme: 'bearer' };
    const { template } = importSchemes(
      { a: bearer, b: { type: 'apiKey', in: 'query', name: 'b' }, unused: bearer },
      {
        paths: {
          '/x': { get: { security: [{ a: [], b: [] }] }, put: { security: [{ a: [] }, {}] } },
        },
      },
    );
    expect(template?.security).toEqual([['a', 'b'], ['a']]);
  });

  test('leaves out and reports an alternative of two schemes that go into one header', () => {
    const key = { type: 'apiKey', in: 'header' };
    const { template, codes } = importSchemes(
      { a: { ...key, name: 'X-Key' }, b: { ...key, name: 'x-key' } },
      { security: [{ a: [], b: [] }, { b: [] }] },
    );
    expect(template?.security).toEqual([['b']]);
    expect(codes).toContain('auth_changed');
  });

  test('keeps the OAuth scopes of an operation, even if the scheme does not list these scopes', () => {
    const { template, codes } = importSchemes(
      { o: { type: 'oauth2', flows: { authorizationCode: flow } } },
      { paths: { '/x': { get: { operationId: 'x', security: [{ o: ['read', 'more'] }] } } } },
    );
    expect(template?.actions['x']?.minimumScopes).toEqual(['read', 'more']);
    expect(template?.auth).toMatchObject([{ scopes: ['read', 'more'] }]);
    expect(codes).toContain('scope_added');
  });
});
