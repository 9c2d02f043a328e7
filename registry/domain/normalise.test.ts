import { describe, expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import { createFindings, pointerTo } from './findings.ts';
import { normalise } from './normalise.ts';

function normaliseAll(value: JsonValue) {
  const findings = createFindings((path) => ({ pointer: pointerTo(path), line: null }));
  const normal = normalise(value, findings);
  return { normal, errors: findings.report().errors };
}

describe('normalise', () => {
  test.for<[spelling: string]>([
    ['scope_param'],
    ['scope-param'],
    ['x-service-scope-param'],
    ['x-service-scope_param'],
    ['x_service_scope_param'],
  ])('reads %s on an operation as x-service-scope-param', ([spelling]) => {
    const { normal, errors } = normaliseAll({ paths: { '/a': { get: { [spelling]: 'b' } } } });

    expect(normal).toEqual({ paths: { '/a': { get: { 'x-service-scope-param': 'b' } } } });
    expect(errors).toEqual([]);
  });

  test.for<[where: string, document: JsonValue, expected: JsonValue]>([
    ['the document', { runtime: 'http' }, { 'x-service-runtime': 'http' }],
    ['info', { info: { key: 'a' } }, { info: { 'x-service-key': 'a' } }],
    [
      'a server',
      { servers: [{ base_url_allowed: true }] },
      { servers: [{ 'x-service-base-url-allowed': true }] },
    ],
    [
      'a security scheme',
      { components: { securitySchemes: { a: { default_secret_name: 'b' } } } },
      { components: { securitySchemes: { a: { 'x-service-default-secret-name': 'b' } } } },
    ],
    [
      'a shared parameter',
      { components: { parameters: { a: { resolve: {} } } } },
      { components: { parameters: { a: { 'x-service-resolve': {} } } } },
    ],
    [
      'a parameter of a path',
      { paths: { '/a': { parameters: [{ resolve: {} }] } } },
      { paths: { '/a': { parameters: [{ 'x-service-resolve': {} }] } } },
    ],
  ])('reads bare words on %s', ([, document, expected]) => {
    expect(normaliseAll(document)).toEqual({ normal: expected, errors: [] });
  });

  test('refuses two spellings of one extension on the same object', () => {
    const { errors } = normaliseAll({ info: { key: 'a', 'x-service-key': 'a' } });

    expect(errors).toEqual([expect.objectContaining({ code: 'ambiguous_alias' })]);
  });

  test('suggests the nearest name for an unknown extension', () => {
    const { errors } = normaliseAll({ paths: { '/a': { get: { 'x-service-rsik': 'read' } } } });

    expect(errors).toEqual([
      expect.objectContaining({
        code: 'unknown_extension',
        path: '/paths/~1a/get/x-service-rsik',
        message: expect.stringContaining('Did you mean "x-service-risk"?'),
      }),
    ]);
  });

  test('says where an extension belongs that stands elsewhere', () => {
    const { errors } = normaliseAll({ info: { 'x-service-risk': 'read' } });

    expect(errors).toEqual([
      expect.objectContaining({
        code: 'misplaced_extension',
        message: expect.stringContaining('operation'),
      }),
    ]);
  });

  test.for<[what: string, document: JsonValue]>([
    ['a bare word on an object it does not belong to', { info: { risk: 'read' } }],
    [
      'names of properties',
      { components: { schemas: { a: { properties: { key: {}, risk: {} } } } } },
    ],
    ['examples', { paths: { '/a': { get: { example: { 'x-service-nonsense': 1 } } } } }],
    ['extensions of other vendors', { info: { 'x-logo': 'a' } }],
  ])('leaves %s alone', ([, document]) => {
    expect(normaliseAll(document)).toEqual({ normal: document, errors: [] });
  });
});
