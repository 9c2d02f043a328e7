import { Ajv2020 } from 'ajv/dist/2020.js';
import { loadJq } from 'jq-wasm';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

import { renderDescription } from '#templates';
import type { CompiledAction } from '#contracts/template';
import { isObject } from '../../registry/domain/context.ts';
import { placeholdersOf } from '../../registry/domain/resolve-block.ts';
import { compileTemplate } from '../../registry/domain/template.ts';
import { checkedKeys, readCheck } from './check.ts';
import { hiddenPlaces } from './disclosure.ts';
import { compileFile, readTemplateFile, templateFiles as files } from './template-files.ts';

const jq = await loadJq();

/** Null as input makes most filters do nothing; what is left are mistakes in their grammar. */
function checkFilter(filter: string): string | undefined {
  const { stderr, exitCode } = jq.raw(null, filter);
  return exitCode === 3 ? stderr : undefined;
}

const templates = files.map((file) => compileFile(file));
const checks = new Map(templates.map(({ key }) => [key, readCheck(key)]));
const exampleCalls = Object.fromEntries(
  [...checks].flatMap(([key, { calls }]) =>
    Object.entries(calls).map(([action, params]) => [`${key} ${action}`, params]),
  ),
);
const actions = templates.flatMap((template) =>
  Object.values(template.actions).map((action): [string, CompiledAction] => [
    `${template.key} ${action.key}`,
    action,
  ]),
);

describe('built-in templates', () => {
  test('are each held against something', () => {
    expect(checkedKeys().toSorted()).toEqual(templates.map(({ key }) => key).toSorted());
  });

  test.for(files)('%s is called as its key', (file) => {
    expect(file).toBe(`${compileFile(file).key}.yaml`);
  });

  test.for(files)('%s has neither errors nor warnings', (file) => {
    const { report } = compileTemplate(readTemplateFile(file), {
      tier: 'global',
      ownerId: null,
      version: 1,
      checkFilter,
    });

    expect(report).toEqual({ valid: true, errors: [], warnings: [] });
  });

  test.for(templates)('$key has 8 to 30 actions, a description and a category', (template) => {
    // Those of an MCP server are found when it is connected.
    const amount = Object.keys(template.mcp?.overrides ?? template.actions).length;
    expect(amount).toBeGreaterThanOrEqual(8);
    expect(amount).toBeLessThanOrEqual(30);
    expect(template.description).not.toBe('');
    expect(template.category).not.toBe('');
  });

  test.for(actions)('%s says what every parameter is', ([, action]) => {
    const properties = action.paramsSchema['properties'];
    const undescribed = Object.entries(isObject(properties) ? properties : {})
      .filter(([, schema]) => !isObject(schema) || typeof schema['description'] !== 'string')
      .map(([name]) => name);

    expect(undescribed).toEqual([]);
  });

  test.for(actions)('%s has an honest risk', ([, action]) => {
    if (action.method === 'DELETE') expect(action.risk).toBe('delete');
    if (action.method === 'GET') expect(action.risk).toBe('read');
    if (['PUT', 'PATCH'].includes(action.method)) expect(action.risk).not.toBe('read');
  });

  test('call a POST a read only where it looks something up', () => {
    const reads = actions.filter(([, action]) => action.method !== 'GET' && action.risk === 'read');
    const lookUps = /(^|_)(search|find|query|list|get|count|validate|preview|check|read)/;

    expect(
      reads.map(([name]) => name).filter((name) => !lookUps.test(name.split(' ')[1] ?? '')),
    ).toEqual([]);
  });
});

/** Parameters that go with another value than the example's, or with no value of the caller's. */
const notTogether = new Set([
  ...[...checks].flatMap(([key, { not_together: names }]) => names.map((name) => `${key} ${name}`)),
  ...actions.flatMap(([name, action]) =>
    action.params
      .filter((param) => 'const' in param.schema)
      .map((param) => `${name} ${param.name}`),
  ),
]);

const changing = actions.filter(([, action]) => action.risk !== 'read');

describe('what a person is shown', () => {
  test.for(changing)('%s has an example call that gives every parameter', ([name, action]) => {
    const params = exampleCalls[name] ?? {};
    const known = action.params.map((param) => param.name);

    expect(Object.keys(params).filter((param) => !known.includes(param))).toEqual([]);
    expect(
      known.filter((param) => !(param in params) && !notTogether.has(`${name} ${param}`)),
    ).toEqual([]);
  });

  // By the schema and not by the example: whatever can be sent has to change what is shown.
  test.for(templates)('$key shows every value that can be sent', ({ key, actions: all }) => {
    const hidden = Object.values(all)
      .filter((action) => action.risk !== 'read')
      .flatMap((action) =>
        hiddenPlaces(action, exampleCalls[`${key} ${action.key}`] ?? {}, jq).map(
          ({ at }) => `${action.key}: ${at}`,
        ),
      );
    const excepted = checks.get(key)?.hidden.map(({ action, at }) => `${action}: ${at}`) ?? [];

    expect(hidden.toSorted()).toEqual(excepted.toSorted());
  });

  test.for(changing)('%s discloses a call with nothing but what is required', ([name, action]) => {
    const required = action.params.filter((param) => param.required).map((param) => param.name);
    const entries = Object.entries(exampleCalls[name] ?? {}).filter(([param]) =>
      required.includes(param),
    );
    const projection = projectionOf(action, Object.fromEntries(entries));

    for (const { filter } of action.disclose) {
      const { stderr, exitCode } = jq.raw(projection, filter);
      expect([exitCode, stderr]).toEqual([0, '']);
    }
  });

  test.for(changing)('%s has a description that names its scope', ([name, action]) => {
    const params = exampleCalls[name] ?? {};
    const description = renderDescription(action.description, params);

    expect(description).not.toMatch(/[{}[\]]/);
    if (action.scopeParam) expect(description).toContain(String(params[action.scopeParam]));
  });
});

const ajv = new Ajv2020({ strict: false, validateFormats: false });

describe('parameters', () => {
  test.for(actions)('%s accepts its example call', ([name, action]) => {
    const isValid = ajv.validate(action.paramsSchema, exampleCalls[name] ?? {});

    expect([isValid, ajv.errors]).toEqual([true, null]);
  });

  interface Target {
    action: string;
    name: string;
    more: Record<string, unknown>;
  }
  const project: Target = { action: 'gitlab get_issue', name: 'project', more: { issue_iid: 1 } };
  const repository: Target = {
    action: 'github get_issue',
    name: 'repository',
    more: { issue_number: 1 },
  };
  const issue: Target = { action: 'jira get_issue', name: 'issue_key', more: {} };
  const page: Target = { action: 'notion get_page', name: 'page_id', more: {} };
  test.for<[target: Target, value: unknown, accepted: boolean]>([
    [repository, 'acme/site', true],
    [repository, 'acme/site.github.io', true],
    [repository, 'acme/.github', true],
    [repository, 'Acme/site', false],
    [repository, 'site', false],
    [repository, 'acme/site/issues', false],
    [repository, 'acme/..', false],
    [repository, '../site', false],
    [repository, 'acme/.', false],
    [repository, 'acme/site?x=y', false],
    [repository, 'acme/site#x', false],
    [repository, 'acme%2Fsite', false],
    [repository, 'acme/*', false],
    [repository, 'acme/site\n', false],
    [project, 'acme/site', true],
    [project, 'acme/web/site', true],
    [project, '42', false],
    [project, 42, false],
    [project, 'Acme/site', false],
    [project, 'acme/../site', false],
    [project, 'acme%2fsite', false],
    [issue, 'SITE-12', true],
    [issue, 'site-12', false],
    [issue, '10012', false],
    [page, '0197e2b4-1234-4000-8000-000000000001', true],
    [page, '0197E2B4-1234-4000-8000-000000000001', false],
    [page, '0197e2b41234400080000000000000001', false],
  ])(
    'one resource has one spelling: $0.action of $1 is $2',
    ([{ action, name, more }, value, accepted]) => {
      const schema = actions.find(([key]) => key === action)?.[1].paramsSchema ?? false;

      expect(ajv.validate(schema, { ...more, [name]: value })).toBe(accepted);
    },
  );
});

describe('resolve look-ups', () => {
  test.for(actions)(
    '%s looks names up only below paths the template itself reads or names',
    ([, action]) => {
      for (const param of action.params) {
        if (param.resolve === null) continue;
        expect(placeholdersOf(param.resolve.get)).toContain(param.name);
      }
    },
  );
});

describe('file format', () => {
  test.for(files)('%s states version 3.1.0 and is bare in spelling', (file) => {
    const text = readTemplateFile(file);

    expect((parse(text) as { openapi: string }).openapi).toBe('3.1.0');
    expect(text).not.toContain('x-service-');
  });
});

/** The unredacted request as `disclose` sees it (docs/reference/approvals.md#the-card). */
function projectionOf(action: CompiledAction, params: Record<string, unknown>) {
  const inBody = action.params.filter((param) => param.in === 'body' && param.name in params);
  const url = `https://api.example.com${action.path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => String(params[name]))}`;
  const body = Object.fromEntries(inBody.map((param) => [param.name, params[param.name]]));
  return { method: action.method, url, params, body: action.body === null ? null : body };
}
