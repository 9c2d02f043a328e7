import { readFileSync } from 'node:fs';

import { describe, expect, test } from 'vitest';

import type { CompiledAction } from '#contracts/template';
import { isObject } from './domain/context.ts';
import { compileTemplate } from './domain/template.ts';

const file = new URL('../service-templates/github.yaml', import.meta.url);
const github = compileTemplate(readFileSync(file, 'utf8'), {
  tier: 'global',
  ownerId: null,
  version: 1,
}).template;

describe('github.yaml', () => {
  const document = parseOfficial();

  test.for(Object.values(github?.actions ?? {}))(
    "$key agrees with GitHub's own document",
    (action) => {
      const path = action.path.replace('{repository}', '{owner}/{repo}');
      const operation = document.paths[path]?.[action.method.toLowerCase()];
      const official = officialParams(document, operation);
      const ours = action.params.filter(
        (param) => !('const' in param.schema) && param.name !== 'repository',
      );

      expect(operation).toBeDefined();
      expect(ours.map((param) => param.name).filter((name) => !(name in official.params))).toEqual(
        [],
      );
      for (const param of ours) {
        expect([param.name, param.in]).toEqual([param.name, official.params[param.name]]);
      }
      expect(
        official.required.filter(
          (name) => !ours.some((param) => param.name === name && param.required),
        ),
      ).toEqual([]);
      expect(enumsBeyond(action, official.enums)).toEqual([]);
    },
  );

  test('has the actions agents rely on', () => {
    expect(github?.actions).toMatchObject({
      list_issues: { scopeParam: 'repository' },
      get_issue: {},
      create_issue: { scopeParam: 'repository' },
      update_issue: {},
      create_comment: {},
      list_pull_requests: {},
      get_pull_request: {},
      merge_pull_request: {},
      get_file_contents: {},
      search_issues: {},
      delete_label: { risk: 'delete' },
    });
  });
});

interface Official {
  readonly paths: Record<string, Record<string, Record<string, unknown>>>;
  readonly components: Record<string, Record<string, Record<string, unknown>>>;
}

function parseOfficial(): Official {
  const file = new URL(
    '../node_modules/@octokit/openapi/generated/api.github.com.json',
    import.meta.url,
  );
  return JSON.parse(readFileSync(file, 'utf8')) as Official;
}

interface OfficialParams {
  readonly params: Record<string, string>;
  readonly required: string[];
  readonly enums: Record<string, unknown[]>;
}

function officialParams(
  document: Official,
  operation: Record<string, unknown> | undefined,
): OfficialParams {
  const params: Record<string, string> = {};
  const required: string[] = [];
  const enums: Record<string, unknown[]> = {};
  for (const entry of (operation?.['parameters'] ?? []) as Record<string, unknown>[]) {
    const param = dereference(document, entry);
    const name = String(param['name']);
    if (name === 'owner' || name === 'repo') continue;
    params[name] = String(param['in']);
    if (param['required'] === true) required.push(name);
    enums[name] = enumOf(param['schema']);
  }
  const body = operation?.['requestBody'] as
    | { required?: boolean; content: Record<string, { schema: Schema }> }
    | undefined;
  const schema = body?.content['application/json']?.schema;
  for (const [name, property] of Object.entries(schema?.properties ?? {})) {
    params[name] = 'body';
    enums[name] = enumOf(property);
  }
  return {
    params,
    required: [...required, ...(body?.required ? (schema?.required ?? []) : [])],
    enums,
  };
}

interface Schema {
  readonly properties?: Record<string, unknown>;
  readonly required?: string[];
}

function dereference(document: Official, entry: Record<string, unknown>): Record<string, unknown> {
  const reference = entry['$ref'];
  if (typeof reference !== 'string') return entry;
  return document.components['parameters']?.[reference.split('/').at(-1) ?? ''] ?? {};
}

function enumOf(schema: unknown): unknown[] {
  return isObject(schema) && Array.isArray(schema['enum']) ? schema['enum'] : [];
}

/** Values we offer that GitHub does not know. */
function enumsBeyond(action: CompiledAction, official: Record<string, unknown[]>): unknown[] {
  return action.params.flatMap((param) => {
    const known = official[param.name] ?? [];
    const offered = enumOf(param.schema).filter((value) => value !== null);
    return known.length === 0 ? offered : offered.filter((value) => !known.includes(value));
  });
}
