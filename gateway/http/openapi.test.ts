import { readFileSync } from 'node:fs';

import { Ajv2020 } from 'ajv/dist/2020.js';
import { default as addFormats } from 'ajv-formats';
import { describe, expect, test } from 'vitest';

import { httpRoutes } from '#contracts/all';
import { fileBody } from '#contracts/http/define';
import type { RouteSpec } from '#contracts/http/define';
import { createOpenapiDocument } from './openapi.ts';

interface Content {
  readonly content?: Readonly<Record<string, { readonly example?: unknown }>>;
}

const document = createOpenapiDocument();
const text = JSON.stringify(document);
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

describe('the OpenAPI document', () => {
  test('equals the file docs/openapi.json, which npm run generate writes', () => {
    const storedDocument = readFileSync(
      new URL('../../docs/openapi.json', import.meta.url),
      'utf8',
    );

    expect(JSON.parse(text)).toEqual(JSON.parse(storedDocument));
  });

  test('describes every route with an operationId that no other route has', () => {
    const names = operations.map(({ operation }) => operation['operationId']);

    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(Object.keys(httpRoutes)));
  });

  test('contains every schema and response that it refers to', () => {
    for (const [, reference = ''] of text.matchAll(/"\$ref":"([^"]+)"/g)) {
      const steps = reference.replace('#/', '').split('/');
      const valueAtPath = steps.reduce<unknown>(
        (place, step) => (place as Record<string, unknown> | undefined)?.[step],
        document,
      );
      expect(valueAtPath, reference).toBeDefined();
    }
  });

  test('has schemas that a JSON Schema 2020-12 validator accepts', () => {
    const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false });
    addFormats.default(ajv);
    const { schemas } = document.components as { schemas: Record<string, object> };
    const schemaWithDefinitions = JSON.parse(
      JSON.stringify({ $id: 'document', $defs: schemas }).replaceAll(
        '#/components/schemas/',
        'document#/$defs/',
      ),
    ) as object;
    ajv.addSchema(schemaWithDefinitions);

    for (const name of Object.keys(schemas)) {
      expect(ajv.getSchema(`document#/$defs/${name}`), name).toBeTypeOf('function');
    }
  });

  test('describes the access, path parameters and errors of every operation', () => {
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
      const namesInPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declaredParameters = parameters.filter((each) => each.in === 'path');
      expect(declaredParameters.map(({ name }) => name)).toEqual(namesInPath);
      expect(declaredParameters.every(({ required }) => required)).toBe(true);
      expect(summary.length).toBeGreaterThan(0);
      expect(document.tags.map(({ name }) => name)).toEqual(expect.arrayContaining(tags));
      expect(Object.keys(responses).some((status) => status.startsWith('2'))).toBe(true);
      expect(Object.keys(responses)).toContain('500');
      if (security.length > 0) expect(Object.keys(responses)).toContain('401');
    }
  });

  test.for<[operation: string, status: string, code: string]>([
    ['createSecret', '400', 'invalid_params'],
    ['restoreSecretVersion', '424', 'credential_missing'],
    ['refreshConnection', '409', 'conflict'],
    ['publishTemplate', '409', 'conflict'],
    ['resolveApproval', '409', 'approval_stale'],
    ['getMe', '403', 'identity_archived'],
  ])(
    'lists for the operation %s, under the status %s, the error %s that the operation’s endpoint declares',
    ([operationId, status, code]) => {
      const operationWithId = operations.find(
        ({ operation }) => operation['operationId'] === operationId,
      );
      const answers = operationWithId?.operation['responses'] as
        | Record<string, { $ref: string }>
        | undefined;
      const name = answers?.[status]?.$ref.split('/').at(-1) ?? '';
      const { responses: shared } = document.components as { responses: Record<string, unknown> };

      expect(JSON.stringify(shared[name])).toContain(`"${code}"`);
    },
  );

  test.for(Object.entries<RouteSpec>(httpRoutes))(
    'has a valid example of each body and answer of %s',
    ([name, { body, responses }]) => {
      const { operation } =
        operations.find((each) => each.operation['operationId'] === name) ?? expect.fail(name);
      const { requestBody, responses: answers } = operation as unknown as {
        requestBody?: Content;
        responses: Record<string, Content>;
      };
      const exampleIn = (content: Content | undefined) =>
        content?.content?.['application/json']?.example;

      if (body !== undefined) body.parse(exampleIn(requestBody));
      for (const [status, schema] of Object.entries(responses)) {
        if (schema !== null && schema !== fileBody) schema.parse(exampleIn(answers[status]));
      }
    },
  );

  test('has an example for every media type of a request body or a successful answer', () => {
    const contents = operations.flatMap(({ path, method, operation }) => {
      const answers = Object.entries(operation['responses'] as Record<string, Content>).filter(
        ([status]) => status.startsWith('2'),
      );
      const parts = [
        ['body', operation['requestBody'] as Content | undefined] as const,
        ...answers,
      ];
      return parts.flatMap(([part, content]) =>
        Object.values(content?.content ?? {}).map(({ example }) => ({
          where: `${method} ${path} ${part}`,
          example,
        })),
      );
    });

    expect(contents.length).toBeGreaterThan(100);
    expect(contents.filter(({ example }) => example === undefined)).toEqual([]);
  });

  test('has no pattern with syntax that only JavaScript understands, or only in Unicode mode', () => {
    const patterns = [...text.matchAll(/"pattern":"((?:[^"\\]|\\.)*)"/g)].map(
      ([, pattern]) => pattern,
    );

    expect(patterns.length).toBeGreaterThan(10);
    expect(patterns.filter((pattern) => /\\p\{|\[\^\]/i.test(pattern ?? ''))).toEqual([]);
  });

  test('allows additional members in answers, but not in request bodies', () => {
    const { schemas } = document.components as {
      schemas: Record<string, { additionalProperties?: unknown }>;
    };

    expect(schemas['ApprovalResponse']).not.toHaveProperty('additionalProperties');
    expect(schemas['CallActionBody']?.additionalProperties).toBe(false);
  });
});
