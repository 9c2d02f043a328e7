import { describe, expect, test } from 'vitest';

import type { ToolDefinition, ToolOverride } from '#contracts/mcp';
import { compiledTemplate } from '#contracts/template';
import { visible } from './hidden-text.ts';
import { readTool } from './tool-action.ts';
import { compileTemplate } from './template.ts';
import { mergeOffered, overridden, statusOf, toolsetOf, withTools } from './toolset.ts';

const tool = (fields: Partial<ToolDefinition> = {}): ToolDefinition => ({
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
const usable = (fields?: Partial<ToolDefinition>) => {
  const { usable: found, problem } = readTool(tool(fields));
  if (found === null) throw new Error(problem ?? 'no problem');
  return found;
};
const override = { risk: null, scopeParam: null, disclose: [], redact: [], disabled: false };
const saying = (fields: Partial<ToolOverride>) => ({
  overrides: { create_issue: { ...override, ...fields } },
});

describe('a tool read as an action', () => {
  test('is a write with closed parameters and a sentence of ours', () => {
    expect(usable().action).toMatchObject({
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
    expect(usable({ inputSchema: { type: 'object' } }).action.params).toEqual([]);
  });

  test('of which a hint of destruction counts, and none makes it look safer', () => {
    const risk = (annotations: ToolDefinition['annotations']) =>
      usable({ annotations }).action.risk;
    expect(risk({ readOnlyHint: true, destructiveHint: false })).toBe('write');
    expect(risk({ destructiveHint: true })).toBe('delete');
    const { action } = usable({ annotations: { destructiveHint: true } });
    expect(overridden(action, saying({ risk: 'read' })).action.risk).toBe('delete');
    expect(overridden(usable().action, saying({ risk: 'read' })).action.risk).toBe('read');
  });

  test.for<[string, Partial<ToolDefinition>]>([
    ['a name with spaces', { name: 'create issue' }],
    ['a name of the language', { name: 'constructor' }],
    ['a schema that is none', { inputSchema: 'object' }],
    ['a schema of something else', { inputSchema: { type: 'string' } }],
    ['an unknown type', { inputSchema: { type: 'object', properties: { a: { type: 'x' } } } }],
    ['a remote reference', { inputSchema: { $ref: 'https://evil.example/schema.json' } }],
    ['a reference to nothing', { inputSchema: { properties: { a: { $ref: '#/$defs/none' } } } }],
    [
      'a pattern that is none',
      { inputSchema: { properties: { a: { type: 'string', pattern: '(' } } } },
    ],
    ['hidden characters in a name', { inputSchema: { properties: { 'a\u200b': {} } } }],
    [
      'hidden characters in a value',
      { inputSchema: { properties: { a: { enum: ['x\u202ey'] } } } },
    ],
    ['far too much text', { description: 'x'.repeat(70_000) }],
    [
      'a header for a list',
      { inputSchema: { properties: { a: { type: 'array', 'x-mcp-header': 'A' } } } },
    ],
    ['a header out of reach', { inputSchema: { items: { type: 'string', 'x-mcp-header': 'A' } } }],
  ])('is unusable with %s, which is said in words that can be shown', ([, fields]) => {
    const { usable: found, problem } = readTool(tool(fields));
    expect(found).toBeNull();
    expect(visible(problem ?? '')).toBe(problem);
  });

  test('unfolds references only so far', () => {
    const level = (at: number) => ({
      anyOf: Array.from({ length: 10 }, () => ({ $ref: `#/$defs/l${at}` })),
    });
    const $defs = Object.fromEntries(
      Array.from({ length: 8 }, (_, at) => [`l${at}`, level(at + 1)]),
    );
    const inputSchema = {
      type: 'object',
      properties: { a: level(0) },
      $defs: { ...$defs, l8: {} },
    };
    expect(readTool(tool({ inputSchema })).problem).toContain('unfold');
  });

  test('spells out what its texts would hide, and leaves emoji alone', () => {
    expect(usable({ description: 'a\u202eb\u{E0041} ⚠️\ncd' }).action.summary).toBe(
      'a\\u{202E}b\\u{E0041} ⚠️\ncd',
    );
  });
});

describe('a toolset', () => {
  test('of tools with unusual names', () => {
    const names = ['toString', 'hasOwnProperty', 'valueOf'];
    const tools = mergeOffered(
      [],
      names.map((name) => readTool(tool({ name }))),
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

  const read = (...definitions: ToolDefinition[]) => definitions.map(readTool);
  const all = () => true;

  test('takes what there was at first, and nothing that came later', () => {
    const first = mergeOffered([], read(tool(), tool({ name: 'bad name' })), all);
    expect(first.map(statusOf)).toEqual(['available', 'unusable']);
    const later = mergeOffered(first, read(tool({ description: 'Other' }), tool({ name: 'more' })));
    expect(later.map(statusOf)).toEqual(['changed', 'new']);
    const toolset = toolsetOf('2026-07-28', later);
    expect(
      toolset.tools.map(({ action }) => [action.key, action.disabled, action.summary]),
    ).toEqual([['create_issue', true, 'Creates an issue']]);
    const gone = mergeOffered(later, []);
    expect(gone.map(({ name, ...rest }) => [name, statusOf({ name, ...rest })])).toEqual([
      ['create_issue', 'gone'],
    ]);
    expect(mergeOffered(gone, read(tool())).map(statusOf)).toEqual(['available']);
  });

  test('has no tool of which the template says what it does not have', () => {
    const { action } = usable();
    for (const wrong of [{ scopeParam: 'repo' }, { redact: ['params.secret'] }]) {
      const applied = overridden(action, saying(wrong));
      expect(applied.action.disabled).toBe(true);
      expect(applied.problem).toContain('does not have');
    }
    const either = usable({
      inputSchema: {
        type: 'object',
        properties: { title: { type: ['string', 'object'] }, count: { type: ['integer', 'null'] } },
      },
    });
    const mixed = overridden(either.action, saying({ scopeParam: 'title' }));
    expect(mixed.action.disabled).toBe(true);
    expect(mixed.problem).toContain('several kinds');
    expect(overridden(either.action, saying({ scopeParam: 'count' })).problem).toBeNull();
    const right = { scopeParam: 'title', redact: ['params.title'] };
    expect(overridden(action, saying(right)).action).toMatchObject({
      disabled: false,
      scopeParam: 'title',
      redact: ['params.title', 'body.title'],
    });
  });
});
