import { describe, expect, test } from 'vitest';

import type { ToolDefinition, ToolOverride } from '#contracts/mcp';
import { compiledTemplate } from '#contracts/template';
import { escapeHidden } from './hidden-text.ts';
import { readTool } from './tool-action.ts';
import { compileTemplate } from './template.ts';
import {
  mergeOfferedTools,
  applyOverride,
  toolStatusOf,
  toolsetOf,
  withTools,
} from '../../toolsets/domain/toolset.ts';

const createTool = (fields: Partial<ToolDefinition> = {}): ToolDefinition => ({
  name: 'create_issue',
  description: 'Creates an issue',
  inputSchema: {
    type: 'object',
    properties: {
      title: { type: 'string', description: 'The title' },
      labels: { $ref: '#/$defs/L' },
    },
    required: ['title'],
    $defs: { L: { type: 'array', items: { type: 'string' } } },
  },
  ...fields,
});
const readUsable = (fields?: Partial<ToolDefinition>) => {
  const { usable: found, problem } = readTool(createTool(fields));
  if (found === null) throw new Error(problem ?? 'no problem');
  return found;
};
const emptyOverride = { risk: null, scopeParam: null, disclose: [], redact: [], disabled: false };
const overridesWith = (fields: Partial<ToolOverride>) => ({
  overrides: { create_issue: { ...emptyOverride, ...fields } },
});

describe('reading a tool of an MCP server as an action', () => {
  test('gives the risk write, a fixed description, and a schema that refuses undeclared parameters', () => {
    expect(readUsable().action).toMatchObject({
      key: 'create_issue',
      method: 'POST',
      risk: 'write',
      summary: 'Creates an issue',
      description: [{ text: 'Call the tool create_issue' }],
      params: [
        { name: 'title', in: 'body', required: true, description: 'The title' },
        { name: 'labels', in: 'body', required: false, schema: { type: 'array' } },
      ],
      paramsSchema: { type: 'object', required: ['title'], additionalProperties: false },
    });
    expect(readUsable({ inputSchema: { type: 'object' } }).action.params).toEqual([]);
  });

  test('raises the risk when the tool has destructiveHint, and never lowers the risk', () => {
    const riskOf = (annotations: ToolDefinition['annotations']) =>
      readUsable({ annotations }).action.risk;
    expect(riskOf({ readOnlyHint: true, destructiveHint: false })).toBe('write');
    expect(riskOf({ destructiveHint: true })).toBe('delete');
    const { action } = readUsable({ annotations: { destructiveHint: true } });
    expect(applyOverride(action, overridesWith({ risk: 'read' })).action.risk).toBe('delete');
    expect(applyOverride(readUsable().action, overridesWith({ risk: 'read' })).action.risk).toBe(
      'read',
    );
  });

  test.for<[string, Partial<ToolDefinition>]>([
    ['a name with spaces', { name: 'create issue' }],
    ['a name that is a property of all JavaScript objects', { name: 'constructor' }],
    ['a schema that is not an object', { inputSchema: 'object' }],
    ['a schema of another type than object', { inputSchema: { type: 'string' } }],
    [
      'a schema with an unknown type',
      { inputSchema: { type: 'object', properties: { a: { type: 'x' } } } },
    ],
    [
      'a schema with a remote reference',
      { inputSchema: { $ref: 'https://evil.example/schema.json' } },
    ],
    [
      'a schema with a reference that has no target',
      { inputSchema: { properties: { a: { $ref: '#/$defs/none' } } } },
    ],
    [
      'a schema with an invalid pattern',
      { inputSchema: { properties: { a: { type: 'string', pattern: '(' } } } },
    ],
    [
      'a schema with hidden characters in a property name',
      { inputSchema: { properties: { 'a\u200b': {} } } },
    ],
    [
      'a schema with hidden characters in a value',
      { inputSchema: { properties: { a: { enum: ['x\u202ey'] } } } },
    ],
    ['a description that is too long', { description: 'x'.repeat(70_000) }],
    [
      'a schema that sends a list argument as a header',
      { inputSchema: { properties: { a: { type: 'array', 'x-mcp-header': 'A' } } } },
    ],
    [
      'a schema that sends items of a list as a header',
      { inputSchema: { items: { type: 'string', 'x-mcp-header': 'A' } } },
    ],
  ])('refuses a tool that has %s, with a reason that is safe to show', ([, fields]) => {
    const { usable: found, problem } = readTool(createTool(fields));
    expect(found).toBeNull();
    expect(escapeHidden(problem ?? '')).toBe(problem);
  });

  test('refuses a schema that becomes too large when references are replaced', () => {
    const createLevel = (at: number) => ({
      anyOf: Array.from({ length: 10 }, () => ({ $ref: `#/$defs/l${at}` })),
    });
    const $defs = Object.fromEntries(
      Array.from({ length: 8 }, (_, at) => [`l${at}`, createLevel(at + 1)]),
    );
    const inputSchema = {
      type: 'object',
      properties: { a: createLevel(0) },
      $defs: { ...$defs, l8: {} },
    };
    expect(readTool(createTool({ inputSchema })).problem).toContain('unfold');
  });

  test('shows hidden characters as codes, and keeps emoji', () => {
    expect(readUsable({ description: 'a\u202eb\u{E0041} ⚠️\ncd' }).action.summary).toBe(
      'a\\u{202E}b\\u{E0041} ⚠️\ncd',
    );
  });
});

describe('the toolset of an MCP server', () => {
  test('accepts tools with unusual names', () => {
    const names = ['toString', 'hasOwnProperty', 'valueOf'];
    const tools = mergeOfferedTools(
      [],
      names.map((name) => readTool(createTool({ name }))),
      () => true,
    );
    const { template } = compileTemplate(
      'openapi: 3.1.0\ninfo: { title: A, key: a }\nruntime: mcp\nmcp: { url: "https://a.example/", auth: none }',
      { tier: 'org', ownerId: null, version: 1 },
    );
    if (template === undefined) throw new Error('no template');
    const { actions } = withTools(template, toolsetOf('2026-07-28', tools));
    expect(Object.keys(actions)).toEqual(names);
    expect(compiledTemplate.safeParse(withTools(template, toolsetOf('x', tools))).success).toBe(
      true,
    );
  });

  const readTools = (...definitions: ToolDefinition[]) => definitions.map(readTool);
  const acceptAll = () => true;

  test('contains the first tools of a server as accepted, and later tools as not accepted', () => {
    const firstTools = mergeOfferedTools(
      [],
      readTools(createTool(), createTool({ name: 'bad name' })),
      acceptAll,
    );
    expect(firstTools.map(toolStatusOf)).toEqual(['available', 'unusable']);
    const laterTools = mergeOfferedTools(
      firstTools,
      readTools(createTool({ description: 'Other' }), createTool({ name: 'more' })),
    );
    expect(laterTools.map(toolStatusOf)).toEqual(['changed', 'new']);
    const toolset = toolsetOf('2026-07-28', laterTools);
    expect(
      toolset.tools.map(({ action }) => [action.key, action.disabled, action.summary]),
    ).toEqual([['create_issue', true, 'Creates an issue']]);
    const withoutTools = mergeOfferedTools(laterTools, []);
    expect(
      withoutTools.map(({ name, ...rest }) => [name, toolStatusOf({ name, ...rest })]),
    ).toEqual([['create_issue', 'gone']]);
    expect(mergeOfferedTools(withoutTools, readTools(createTool())).map(toolStatusOf)).toEqual([
      'available',
    ]);
  });

  test('disables a tool whose override names a parameter that the tool does not have', () => {
    const { action } = readUsable();
    for (const wrongOverride of [{ scopeParam: 'repo' }, { redact: ['params.secret'] }]) {
      const applied = applyOverride(action, overridesWith(wrongOverride));
      expect(applied.action.disabled).toBe(true);
      expect(applied.problem).toContain('does not have');
    }
    const toolWithTypeLists = readUsable({
      inputSchema: {
        type: 'object',
        properties: { title: { type: ['string', 'object'] }, count: { type: ['integer', 'null'] } },
      },
    });
    const actionWithMixedScope = applyOverride(
      toolWithTypeLists.action,
      overridesWith({ scopeParam: 'title' }),
    );
    expect(actionWithMixedScope.action.disabled).toBe(true);
    expect(actionWithMixedScope.problem).toContain('several kinds');
    expect(
      applyOverride(toolWithTypeLists.action, overridesWith({ scopeParam: 'count' })).problem,
    ).toBeNull();
    const rightOverride = { scopeParam: 'title', redact: ['params.title'] };
    expect(applyOverride(action, overridesWith(rightOverride)).action).toMatchObject({
      disabled: false,
      scopeParam: 'title',
      redact: ['params.title', 'body.title'],
    });
  });
});
