import { readFileSync } from 'node:fs';

import { Ajv2020 } from 'ajv/dist/2020.js';
import { default as addFormats } from 'ajv-formats';
import { describe, expect, test } from 'vitest';

import { httpRoutes } from '#contracts/all';
import { createOpenapiDocument } from './openapi.ts';

const document = createOpenapiDocument();
const text = JSON.stringify(document);
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

describe('the OpenAPI document', () => {
  test('is the one in docs/openapi.json (npm run generate writes it)', () => {
    const stored = readFileSync(new URL('../docs/openapi.json', import.meta.url), 'utf8');

    expect(JSON.parse(text)).toEqual(JSON.parse(stored));
  });

  test('describes every route, and each under its own name', () => {
    const names = operations.map(({ operation }) => operation['operationId']);

    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(Object.keys(httpRoutes)));
  });

  test('refers only to what it holds', () => {
    for (const [, reference = ''] of text.matchAll(/"\$ref":"([^"]+)"/g)) {
      const steps = reference.replace('#/', '').split('/');
      const found = steps.reduce<unknown>(
        (place, step) => (place as Record<string, unknown> | undefined)?.[step],
        document,
      );
      expect(found, reference).toBeDefined();
    }
  });

  test('has schemas that a JSON Schema 2020-12 validator accepts', () => {
    const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false });
    addFormats.default(ajv);
    const { schemas } = document.components as { schemas: Record<string, object> };
    const whole = JSON.parse(
      JSON.stringify({ $id: 'document', $defs: schemas }).replaceAll(
        '#/components/schemas/',
        'document#/$defs/',
      ),
    ) as object;
    ajv.addSchema(whole);

    for (const name of Object.keys(schemas)) {
      expect(ajv.getSchema(`document#/$defs/${name}`), name).toBeTypeOf('function');
    }
  });

  test('says of every operation who may call it, its path parameters and how it fails', () => {
    for (const { path, operation } of operations) {
      const {
        parameters = [],
        responses,
        security,
        tags,
        summary,
      } = operation as {
        parameters?: { name: string; in: string; required: boolean }[];
        responses: Record<string, unknown>;
        security: unknown[];
        tags: string[];
        summary: string;
      };
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = parameters.filter((each) => each.in === 'path');
      expect(declared.map(({ name }) => name)).toEqual(inPath);
      expect(declared.every(({ required }) => required)).toBe(true);
      expect(summary.length).toBeGreaterThan(0);
      expect(document.tags.map(({ name }) => name)).toEqual(expect.arrayContaining(tags));
      expect(Object.keys(responses).some((status) => status.startsWith('2'))).toBe(true);
      expect(Object.keys(responses)).toContain('500');
      if (security.length > 0) expect(Object.keys(responses)).toContain('401');
    }
  });

  test('lets answers grow and bodies not', () => {
    const { schemas } = document.components as {
      schemas: Record<string, { additionalProperties?: unknown }>;
    };

    expect(schemas['ApprovalResponse']).not.toHaveProperty('additionalProperties');
    expect(schemas['CallActionBody']?.additionalProperties).toBe(false);
  });
});
