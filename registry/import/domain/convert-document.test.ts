import { describe, expect, test } from 'vitest';

import { compileParsed } from '../../compiler/domain/template.ts';
import { convertDocument } from './convert-document.ts';
import { petDocument } from './hostile-documents.testing.ts';
import { codesOf, importChanged, importOperation } from './import-changed.testing.ts';
import type { Document } from './import-changed.testing.ts';

describe('an import of a document of another version', () => {
  const swagger = {
    swagger: '2.0',
    info: { title: 'Pet Store', version: '1' },
    host: 'pets.example.com',
    basePath: '/v1',
    schemes: ['https'],
    consumes: ['application/json'],
    securityDefinitions: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
    security: [{ key: [] }],
    paths: {
      '/pets/{id}': {
        put: {
          operationId: 'replacePet',
          parameters: [
            { name: 'id', in: 'path', required: true, type: 'string' },
            {
              name: 'tags',
              in: 'query',
              type: 'array',
              items: { type: 'string' },
              collectionFormat: 'multi',
            },
            { name: 'body', in: 'body', required: true, schema: { $ref: '#/definitions/Pet' } },
          ],
        },
      },
    },
    definitions: {
      Pet: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
    },
  };
  const importAs = (document: object) => {
    const imported = convertDocument({ text: JSON.stringify(document) });
    const options = { tier: 'org', ownerId: null, version: 1, isDraft: true } as const;
    const template = imported.ok ? compileParsed(imported.document, options).template : undefined;
    return { imported, template, codes: codesOf(imported.findings) };
  };

  test('converts Swagger 2.0, and says so', () => {
    const { template, codes } = importAs(swagger);
    expect(template).toMatchObject({
      server: { url: 'https://pets.example.com/v1' },
      auth: [{ in: 'header', name: 'X-Key' }],
      security: [['key']],
    });
    expect(template?.actions['replacePet']).toMatchObject({
      method: 'PUT',
      params: [
        { name: 'id', in: 'path' },
        { name: 'tags', in: 'query', explode: true },
        { name: 'name', in: 'body', required: true },
      ],
    });
    expect(codes).toContain('version_changed');
  });

  test('refuses a document that cannot be converted, and suggests another way', () => {
    const paths = { '/pets': { get: { parameters: [{ name: 'no place' }] } } };
    expect(importAs({ ...swagger, paths }).imported).toMatchObject({
      ok: false,
      findings: [{ code: 'openapi_version', message: expect.stringContaining('converter') }],
    });
  });

  test('adds no property to all objects when the document uses __proto__', () => {
    const text = JSON.stringify({ ...swagger, produces: ['__proto__'] }).replace(
      '"operationId"',
      '"responses":{"200":{"examples":{"__proto__":"CANARY"}}},"constructor":{},"operationId"',
    );
    convertDocument({ text });
    expect('example' in {}).toBe(false);
  });

  test('reads OpenAPI 3.2 as 3.1, and says so', () => {
    const document = { ...petDocument(), openapi: '3.2.0' };
    document.paths['/pets'] = { ...(document.paths['/pets'] as object), query: {} };
    const { template, codes } = importAs(document);
    expect(Object.keys(template!.actions)).toEqual(['listPets', 'createPet']);
    expect(codes).toContain('version_changed');
    expect(codesOf(importAs({ ...document, openapi: '4.0.0' }).imported.findings)).toEqual([
      'openapi_version',
    ]);
  });
});

describe('an import of a document', () => {
  test('includes only the selected operations, and lists all other operations', () => {
    const { operations, template } = importChanged(() => {}, { includeOperations: ['POST /pets'] });
    expect(operations).toMatchObject([
      { operation_id: 'listPets', included: false },
      { operation_id: 'createPet', included: true },
    ]);
    expect(Object.keys(template!.actions)).toEqual(['createPet']);
  });

  test('refuses the selection of an unknown operation', () => {
    const { imported } = importChanged(() => {}, { includeOperations: ['listPets', 'listCats'] });
    expect(imported).toMatchObject({ ok: false, findings: [{ code: 'operation_unknown' }] });
  });

  test('uses the given key, or makes one from the title', () => {
    expect(importChanged(() => {}).imported).toMatchObject({
      key: 'pet_store',
      title: 'Pet Store API',
    });
    expect(importChanged(() => {}, { key: 'mine' }).template).toMatchObject({ key: 'mine' });
    for (const key of ['Mine', 'http', '', 'a'.repeat(64), '__proto__']) {
      expect(importChanged(() => {}, { key }).imported).toMatchObject({
        ok: false,
        findings: [{ code: 'key_invalid' }],
      });
    }
  });

  test('gives the same result for YAML as for JSON', () => {
    const text =
      'openapi: 3.1.0\ninfo: {title: Pets}\nservers: [{url: "https://pets.example.com"}]\npaths:\n  /pets:\n    get:\n      responses: {200: {description: Fine}}\n';
    expect(convertDocument({ text })).toMatchObject({
      ok: true,
      key: 'pets',
      operations: [{ operation_id: 'list_pets' }],
    });
    expect(convertDocument({ text: Buffer.from(`\ufeff${text}`) })).toMatchObject({ ok: true });
  });

  test.for<[what: string, change: (document: Document) => void]>([
    ['a path', (d) => (d.paths['/cats'] = { $ref: 'paths/cats.yaml' })],
    ['a path by URL', (d) => (d.paths['/cats'] = { $ref: 'https://a.example/cats.yaml#/cats' })],
    ['a parameter', (d) => (d.paths['/cats'] = { get: { parameters: [{ $ref: './p.yaml' }] } })],
    ['a schema', (d) => (d['components'] = { schemas: { Pet: { $ref: '../pet.yaml#/Pet' } } })],
  ])('refuses a document in several files with one finding: %s', ([, change]) => {
    const { imported } = importChanged(change);
    expect(imported).toMatchObject({ ok: false, findings: [{ code: 'several_files' }] });
    expect(imported.findings).toHaveLength(1);
  });

  test('reports the line of a syntax error', () => {
    expect(convertDocument({ text: '{\n"a": 1,\n"a": 2}' })).toMatchObject({
      findings: [{ code: 'duplicate_key', line: 3 }],
    });
    expect(convertDocument({ text: '{\n"a": 1,\n' })).toMatchObject({
      findings: [{ code: 'syntax', line: 3 }],
    });
    expect(convertDocument({ text: 'a: 1\nb: [' })).toMatchObject({
      findings: [{ code: 'syntax', line: 2 }],
    });
  });

  test('includes the operations that fit into a template, and reports the operations that do not fit', () => {
    const { operations } = importChanged((d) => {
      d.paths = Object.fromEntries(
        Array.from({ length: 1200 }, (_, n) => [`/things${n}`, { get: {} }]),
      );
    });
    expect(operations?.filter(({ included }) => included)).toHaveLength(1000);
    expect(operations?.at(-1)).toMatchObject({
      included: false,
      skipped: { code: 'does_not_fit' },
    });
  });

  test('ignores the x-service-* extensions in the imported document', () => {
    const { action, template } = importOperation({
      'x-service-risk': 'read',
      risk: 'read',
      'x-service-redact': ['body.*'],
      'x-service-disabled': true,
    });
    expect(action).toMatchObject({ risk: 'write', redact: [], disabled: false });
    expect(template?.key).toBe('pet_store');
  });
});
