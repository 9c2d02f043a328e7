import { describe, expect, test } from 'vitest';

import type { ToolOverride } from '#contracts/mcp';
import type { CompiledAction } from '#contracts/template';
import { actionOf, templateOf } from '../../action.testing.ts';
import { obeysTemplate } from './accepted-tools.ts';

const override: ToolOverride = {
  risk: null,
  scopeParam: null,
  disclose: [],
  redact: [],
  disabled: false,
};

function templateWithTool(tool: Partial<CompiledAction>, overrideFields?: Partial<ToolOverride>) {
  const action = actionOf('search', { method: 'POST', path: '/mcp', risk: 'write', ...tool });
  return templateOf([action], {
    runtime: 'mcp',
    mcp: {
      path: '/mcp',
      autodiscover: true,
      protocolVersion: null,
      pins: {},
      overrides: overrideFields === undefined ? {} : { search: { ...override, ...overrideFields } },
    },
  });
}

describe('the accepted tools of an MCP server (obeysTemplate)', () => {
  test('obey a template when they keep its address, risk and redactions', () => {
    expect(obeysTemplate(templateOf([actionOf('anything')]))).toBe(true);
    expect(obeysTemplate(templateWithTool({}))).toBe(true);
    // A warning by the server raises the risk above the risk in the template.
    expect(obeysTemplate(templateWithTool({ risk: 'delete' }, { risk: 'read' }))).toBe(true);
    expect(obeysTemplate(templateWithTool({ risk: 'read' }, { risk: 'read' }))).toBe(true);
    const redactedFields = { redact: ['params.token', 'body.token'] };
    expect(obeysTemplate(templateWithTool(redactedFields, { redact: ['params.token'] }))).toBe(
      true,
    );
  });

  test.each<[string, Partial<CompiledAction>, Partial<ToolOverride>?]>([
    ['a tool has a lower risk than any tool may have', { risk: 'read' }],
    ['a tool has a lower risk than the template sets', { risk: 'write' }, { risk: 'delete' }],
    ['a tool has another path', { path: '/other' }],
    ['a tool has another method', { method: 'GET' }],
    ['a tool is listed under the name of another tool', { key: 'wipe' }],
    ['a tool is enabled that the template disables', {}, { disabled: true }],
    ['a tool lacks its scope parameter', {}, { scopeParam: 'repo' }],
    [
      'a tool lacks its disclosed fields',
      {},
      { disclose: [{ label: 'A', filter: '.', maxChars: null }] },
    ],
    ['a tool does not redact a secret', { redact: ['body.token'] }, { redact: ['params.token'] }],
  ])('are refused when %s', (_what, tool, overrideFields) => {
    const { key = 'search' } = tool;
    const template = templateWithTool(tool, overrideFields);
    const actions = { search: template.actions[key] as CompiledAction };
    expect(obeysTemplate({ ...template, actions })).toBe(false);
  });
});
