import { Ajv2020 } from 'ajv/dist/2020.js';
import { loadJq } from 'jq-wasm';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

import { renderDescription, scopeOf } from '#templates';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { isObject } from '../../registry/document/domain/context.ts';
import { placeholdersOf } from '../../registry/compiler/domain/resolve-block.ts';
import { compileTemplate } from '../../registry/compiler/domain/template.ts';
import {
  buildScopePresets,
  scopesOfActions,
} from '../../registry/templates/domain/scope-presets.ts';
import { listCheckedKeys, readCheck } from './check.ts';
import { findHiddenPlaces } from './disclosure.ts';
import { compileFile, readTemplateFile, templateFiles as files } from './template-files.ts';

const jq = await loadJq();

/**
 * Compiles a jq filter by running it on null. Most filters do nothing with null, so only syntax
 * errors remain.
 */
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
/**
 * The actions of a template, each with its name as `template action`. Messages of failed assertions
 * contain this name.
 */
const actionsOf = ({ key, actions: all }: CompiledTemplate): [string, CompiledAction][] =>
  Object.values(all).map((action) => [`${key} ${action.key}`, action]);
const actions = templates.flatMap(actionsOf);

describe('built-in templates', () => {
  test('have one checks file each, and every checks file belongs to a template', () => {
    expect(listCheckedKeys().toSorted()).toEqual(templates.map(({ key }) => key).toSorted());
  });

  test.for(files)("%s has the template's key as its file name", (file) => {
    expect(file).toBe(`${compileFile(file).key}.yaml`);
  });

  test.for(files)(
    '%s describes each OAuth scope in words, and its actions need no other scopes',
    (file) => {
      const template = compileFile(file);
      for (const method of template.auth) {
        if (method.type !== 'oauth2') continue;
        const scopesWithWords = Object.keys(method.scopeWords ?? {});
        expect.soft(scopesWithWords, method.scheme).toEqual(method.scopes);
        const offeredParams = [
          ...buildScopePresets(template, method).read_and_change,
          ...Object.values(scopesOfActions(template, method)).flat(),
        ];
        const unknownScopes = offeredParams.filter((scope) => !method.scopes.includes(scope));
        expect.soft(unknownScopes, method.scheme).toEqual([]);
      }
    },
  );

  test.for(files)('%s compiles without errors or warnings', (file) => {
    const { report } = compileTemplate(readTemplateFile(file), {
      tier: 'global',
      ownerId: null,
      version: 1,
      checkFilter,
    });

    expect(report).toEqual({ valid: true, errors: [], warnings: [] });
  });

  test.for(templates)('$key has 8 to 30 actions, a description and a category', (template) => {
    // The tools of an MCP server become known only when it is connected. So its template lists
    // overrides instead of actions.
    const actionCount = Object.keys(template.mcp?.overrides ?? template.actions).length;
    expect(actionCount).toBeGreaterThanOrEqual(8);
    expect(actionCount).toBeLessThanOrEqual(30);
    expect(template.description).not.toBe('');
    expect(template.category).not.toBe('');
  });

  test.for(templates)('$key describes every parameter', (template) => {
    for (const [name, action] of actionsOf(template)) {
      const properties = action.paramsSchema['properties'];
      const undescribedParams = Object.entries(isObject(properties) ? properties : {})
        .filter(([, schema]) => !isObject(schema) || typeof schema['description'] !== 'string')
        .map(([param]) => param);

      expect.soft(undescribedParams, name).toEqual([]);
    }
  });

  test.for(templates)('$key gives each action a risk that matches its method', (template) => {
    for (const [name, action] of actionsOf(template)) {
      if (action.method === 'DELETE') expect.soft(action.risk, name).toBe('delete');
      if (action.method === 'GET') expect.soft(action.risk, name).toBe('read');
      if (['PUT', 'PATCH'].includes(action.method)) {
        expect.soft(action.risk, name).not.toBe('read');
      }
    }
  });

  test('give a request other than GET the risk read only if the name of the action says that it reads', () => {
    const readsOtherThanGet = actions.filter(
      ([, action]) => action.method !== 'GET' && action.risk === 'read',
    );
    const lookUpNamePattern = /(^|_)(search|find|query|list|get|count|validate|preview|check|read)/;

    expect(
      readsOtherThanGet
        .map(([name]) => name)
        .filter((name) => !lookUpNamePattern.test(name.split(' ')[1] ?? '')),
    ).toEqual([]);
  });
});

/**
 * Parameters that an example call cannot give: they exclude its other parameters, or they are
 * constants of the template.
 */
const paramsOutsideExamples = new Set([
  ...[...checks].flatMap(([key, { not_together: names }]) => names.map((name) => `${key} ${name}`)),
  ...actions.flatMap(([name, action]) =>
    action.params
      .filter((param) => 'const' in param.schema)
      .map((param) => `${name} ${param.name}`),
  ),
]);

const writingActionsOf = (template: CompiledTemplate) =>
  actionsOf(template).filter(([, action]) => action.risk !== 'read');

describe('the approval card for the built-in template', () => {
  test.for(templates)(
    '$key is tested with example calls that give every parameter of the writing actions',
    (template) => {
      for (const [name, action] of writingActionsOf(template)) {
        const params = exampleCalls[name] ?? {};
        const knownParams = action.params.map((param) => param.name);

        expect
          .soft(
            Object.keys(params).filter((param) => !knownParams.includes(param)),
            name,
          )
          .toEqual([]);
        expect
          .soft(
            knownParams.filter(
              (param) => !(param in params) && !paramsOutsideExamples.has(`${name} ${param}`),
            ),
            name,
          )
          .toEqual([]);
      }
    },
  );

  // The test tries values from the parameters' schemas, and not only the example calls: every value
  // that can be sent must change the text of the approval card.
  test.for(templates)('$key shows every value that can be sent', (template) => {
    const hiddenPlaces = writingActionsOf(template).flatMap(([name, action]) =>
      findHiddenPlaces(action, exampleCalls[name] ?? {}, jq).map(
        ({ at }) => `${action.key}: ${at}`,
      ),
    );
    const { hidden: allowed = [] } = checks.get(template.key) ?? {};
    const exceptedPlaces = allowed.map(({ action, at }) => `${action}: ${at}`);

    expect(hiddenPlaces.toSorted()).toEqual(exceptedPlaces.toSorted());
  });

  test.for(templates)(
    '$key can be made for calls that have only the required parameters',
    (template) => {
      for (const [name, action] of writingActionsOf(template)) {
        const required = action.params.filter((param) => param.required).map((param) => param.name);
        const entries = Object.entries(exampleCalls[name] ?? {}).filter(([param]) =>
          required.includes(param),
        );
        const projection = projectionOf(action, Object.fromEntries(entries));

        for (const { filter } of action.disclose) {
          const { stderr, exitCode } = jq.raw(projection, filter);
          expect.soft([exitCode, stderr], name).toEqual([0, '']);
        }
      }
    },
  );

  test.for(templates)(
    '$key contains the value of the scope parameter in its sentence',
    (template) => {
      for (const [name, action] of writingActionsOf(template)) {
        const params = exampleCalls[name] ?? {};
        const description = renderDescription(action.description, params);

        expect.soft(description, name).not.toMatch(/[{}[\]]/);
        for (const { sources } of scopeOf(action)) {
          // Values from members and lists are elsewhere on the card (see the tests of what
          // approvers see).
          const [source, ...others] = sources;
          if (source === undefined || others.length > 0 || source.steps.length > 0) continue;
          expect.soft(description, name).toContain(String(params[source.param.name]));
        }
      }
    },
  );
});

const ajv = new Ajv2020({ strict: false, validateFormats: false });

describe('the parameter schemas of the built-in template', () => {
  test.for(templates)('$key accept the example calls', (template) => {
    for (const [name, action] of actionsOf(template)) {
      const isValid = ajv.validate(action.paramsSchema, exampleCalls[name] ?? {});

      expect.soft([isValid, ajv.errors], name).toEqual([true, null]);
    }
  });
});

describe('the look-ups of names in the built-in template', () => {
  test.for(templates)('$key contain the parameter with the id in their path', (template) => {
    for (const [name, action] of actionsOf(template)) {
      for (const param of action.params) {
        if (param.resolve === null) continue;
        expect.soft(placeholdersOf(param.resolve.get), name).toContain(param.name);
      }
    }
  });
});

describe('the file of a built-in template', () => {
  test.for(files)('%s states OpenAPI 3.1.0 and does not use the prefix x-service-', (file) => {
    const text = readTemplateFile(file);

    expect((parse(text) as { openapi: string }).openapi).toBe('3.1.0');
    expect(text).not.toContain('x-service-');
  });
});

/**
 * The unredacted request that the `disclose` filters read (docs/reference/approvals.md#the-card).
 */
function projectionOf(action: CompiledAction, params: Record<string, unknown>) {
  const bodyParams = action.params.filter((param) => param.in === 'body' && param.name in params);
  const url = `https://api.example.com${action.path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => String(params[name]))}`;
  const body = Object.fromEntries(bodyParams.map((param) => [param.name, params[param.name]]));
  return { method: action.method, url, params, body: action.body === null ? null : body };
}
