import { describe, expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import { createFindings, pointerTo } from './findings.ts';
import { normaliseNode } from './normalise.ts';

function normaliseDocument(value: JsonValue) {
  const findings = createFindings((path) => ({ pointer: pointerTo(path), line: null }));
  const normal = normaliseNode(value, findings);
  return { normal, errors: findings.report().errors };
}

describe('the normal form of a document with extensions (normalise)', () => {
  test.for<[spelling: string]>([
    ['scope_param'],
    ['scope-param'],
    ['x-service-scope-param'],
    ['x-service-scope_param'],
    ['x_service_scope_param'],
  ])('has x-service-scope-param on an operation in place of %s', ([spelling]) => {
    const { normal, errors } = normaliseDocument({ paths: { '/a': { get: { [spelling]: 'b' } } } });

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
  ])('has the prefix x-service- for extensions without prefix on %s', ([, document, expected]) => {
    expect(normaliseDocument(document)).toEqual({ normal: expected, errors: [] });
  });

  test('does not exist when an object has two forms of the same extension', () => {
    const { errors } = normaliseDocument({ info: { key: 'a', 'x-service-key': 'a' } });

    expect(errors).toEqual([expect.objectContaining({ code: 'ambiguous_alias' })]);
  });

  test('does not exist for an unknown extension; the error suggests the nearest name', () => {
    const { errors } = normaliseDocument({
      paths: { '/a': { get: { 'x-service-rsik': 'read' } } },
    });

    expect(errors).toEqual([
      expect.objectContaining({
        code: 'unknown_extension',
        path: '/paths/~1a/get/x-service-rsik',
        message: expect.stringContaining('Did you mean "x-service-risk"?'),
      }),
    ]);
  });

  test('does not exist for a misplaced extension; the error names the objects that may have the extension', () => {
    const { errors } = normaliseDocument({ info: { 'x-service-risk': 'read' } });

    expect(errors).toEqual([
      expect.objectContaining({
        code: 'misplaced_extension',
        message: expect.stringContaining('operation'),
      }),
    ]);
  });

  test.for<[what: string, document: JsonValue]>([
    ['an extension name without prefix on another object', { info: { risk: 'read' } }],
    ['property names', { components: { schemas: { a: { properties: { key: {}, risk: {} } } } } }],
    ['examples', { paths: { '/a': { get: { example: { 'x-service-nonsense': 1 } } } } }],
    ['extensions of other vendors', { info: { 'x-logo': 'a' } }],
  ])('leaves %s unchanged', ([, document]) => {
    expect(normaliseDocument(document)).toEqual({ normal: document, errors: [] });
  });
});
