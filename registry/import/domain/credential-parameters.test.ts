import { describe, expect, test } from 'vitest';

import type { JsonObject } from '../../document/domain/context.ts';
import { importChanged } from './import-changed.testing.ts';
import type { ImportRequest } from './imported.ts';

describe('a parameter that carries a credential in an imported document', () => {
  const parameter = (name: string, place = 'header', more: JsonObject = { required: true }) => ({
    name,
    in: place,
    schema: { type: 'string' },
    ...more,
  });
  const importWith = (
    parameters: JsonObject[],
    more: JsonObject = {},
    request: Partial<ImportRequest> = {},
  ) =>
    importChanged((d) => {
      Object.assign(d, more);
      d.paths['/pets'] = { get: { operationId: 'get', parameters }, put: { parameters } };
    }, request);

  test.for<[name: string, place: string, more: JsonObject, becomes: object]>([
    ['X-API-Key', 'header', { required: true }, { in: 'header', name: 'X-API-Key', prefix: '' }],
    ['api_key', 'query', {}, { in: 'query', name: 'api_key' }],
    ['accessToken', 'query', { required: true }, { in: 'query', name: 'accessToken' }],
    ['Ocp-Apim-Subscription-Key', 'header', {}, { name: 'Ocp-Apim-Subscription-Key' }],
    ['X-Auth-Token', 'header', {}, { name: 'X-Auth-Token' }],
    ['Token', 'header', {}, { name: 'Token' }],
    ['Authorization', 'header', {}, { name: 'Authorization', prefix: '' }],
    ['authorization', 'header', { description: 'Bearer {token}' }, { prefix: 'Bearer ' }],
    ['Authorization', 'header', { example: 'Basic YTpi' }, { prefix: 'Basic ' }],
  ])(
    'becomes a security scheme when its name is %s in the %s, with %j',
    ([name, place, more, becomes]) => {
      const { template, codes } = importWith([parameter(name, place, more)]);
      expect(template?.auth).toMatchObject([{ type: 'apiKey', ...becomes }]);
      expect(template?.security).toEqual([[template?.auth[0]?.scheme]]);
      expect(template?.actions['get']?.params).toEqual([]);
      expect(codes).toContain('auth_inferred');
    },
  );

  test.for([
    ['page_token', 'query'],
    ['token', 'query'],
    ['key', 'query'],
    ['Idempotency-Key', 'header'],
    ['X-CSRF-Token', 'header'],
    ['author', 'query'],
  ] as const)('is not recognised when its name is %s in the %s', ([name, place]) => {
    const { template, codes } = importWith([parameter(name, place)]);
    expect(template?.auth).toEqual([]);
    expect(template?.actions['get']?.params).toMatchObject([{ name }]);
    expect(codes).not.toContain('auth_inferred');
  });

  test('is added to the schemes of the document when most operations require it', () => {
    const components = { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } };
    const security = [{ bearer: [] }];
    const importBeside = (parameters: JsonObject[]) =>
      importWith(parameters, { components, security });

    const both = importBeside([parameter('X-Api-Key')]);
    expect(both.template?.security).toEqual([['bearer', 'X-Api-Key']]);
    const optional = importBeside([parameter('X-Api-Key', 'header', {})]);
    expect(optional.template?.security).toEqual([['bearer']]);
    expect(optional.template?.actions['get']?.params).toEqual([]);
    expect(optional.codes).toContain('parameter_dropped');
    const same = importBeside([parameter('Authorization')]);
    expect(same.template?.security).toEqual([['bearer']]);
    expect(same.template?.actions['get']?.params).toEqual([]);
  });

  test('is recognised as a scheme that the document declares and does not use', () => {
    const components = {
      securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-api-key' } },
    };
    const { template } = importWith([parameter('X-Api-Key', 'header', {})], { components });
    expect(template?.auth).toHaveLength(1);
    expect(template?.security).toEqual([['key']]);
  });

  test('becomes an alternative when few operations require it', () => {
    const { template } = importChanged((d) => {
      d['components'] = { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } };
      d['security'] = [{ bearer: [] }];
      d.paths['/admin'] = { get: { parameters: [parameter('X-Admin-Api-Key')] } };
    });
    expect(template?.security).toEqual([['bearer'], ['bearer', 'X-Admin-Api-Key']]);
  });

  test('is reported as unsupported when it is a cookie', () => {
    const { template, codes } = importWith([parameter('session_id', 'cookie', {})]);
    expect(template).toMatchObject({ auth: [], security: [] });
    expect(codes).toContain('auth_unsupported');
  });

  test('can be named by the person who imports the document', () => {
    const apiKey = { in: 'header', name: 'X-Shop' } as const;
    const { template } = importWith([parameter('X-Shop')], {}, { apiKey });
    expect(template?.auth).toMatchObject([{ in: 'header', name: 'X-Shop' }]);
    expect(template?.security).toEqual([['X-Shop']]);
    expect(template?.actions['get']?.params).toEqual([]);
    const { imported } = importWith([], {}, { apiKey: { in: 'header', name: 'Host' } });
    expect(imported).toMatchObject({ ok: false, findings: [{}, { code: 'key_place_invalid' }] });
  });
});
