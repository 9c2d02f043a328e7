import { describe, expect, test } from 'vitest';

import type { ToolOverride } from '#contracts/mcp';
import type { CompiledAction } from '#contracts/template';
import { obeysTemplate } from './accepted-tools.ts';
import { actionOf, templateOf } from './action.testing.ts';

const override: ToolOverride = {
  risk: null,
  scopeParam: null,
  disclose: [],
  redact: [],
  disabled: false,
};

function withTool(tool: Partial<CompiledAction>, said?: Partial<ToolOverride>) {
  const action = actionOf('search', { method: 'POST', path: '/mcp', risk: 'write', ...tool });
  return templateOf([action], {
    runtime: 'mcp',
    mcp: {
      path: '/mcp',
      autodiscover: true,
      protocolVersion: null,
      pins: {},
      overrides: said === undefined ? {} : { search: { ...override, ...said } },
    },
  });
}

describe('the tools of an MCP server', () => {
  test('are what their template lets them be', () => {
    expect(obeysTemplate(templateOf([actionOf('anything')]))).toBe(true);
    expect(obeysTemplate(withTool({}))).toBe(true);
    // A server's own warning counts, whatever the template says.
    expect(obeysTemplate(withTool({ risk: 'delete' }, { risk: 'read' }))).toBe(true);
    expect(obeysTemplate(withTool({ risk: 'read' }, { risk: 'read' }))).toBe(true);
    const hidden = { redact: ['params.token', 'body.token'] };
    expect(obeysTemplate(withTool(hidden, { redact: ['params.token'] }))).toBe(true);
  });

  test.each<[string, Partial<CompiledAction>, Partial<ToolOverride>?]>([
    ['less risky than a tool is', { risk: 'read' }],
    ['less risky than the template says', { risk: 'write' }, { risk: 'delete' }],
    ['at another path', { path: '/other' }],
    ['called by another method', { method: 'GET' }],
    ['another tool under its name', { key: 'wipe' }],
    ['enabled although the template disables it', {}, { disabled: true }],
    ['without its scope parameter', {}, { scopeParam: 'repo' }],
    ['without what is disclosed', {}, { disclose: [{ label: 'A', filter: '.', maxChars: null }] }],
    ['with a secret shown', { redact: ['body.token'] }, { redact: ['params.token'] }],
  ])('are not %s', (_what, tool, said) => {
    const { key = 'search' } = tool;
    const template = withTool(tool, said);
    const actions = { search: template.actions[key] as CompiledAction };
    expect(obeysTemplate({ ...template, actions })).toBe(false);
  });
});
