import { describe, expect, test } from 'vitest';

import type { CompiledTemplate } from '#contracts/template';
import { authoredDigestOf, templateDigestOf } from './digest.ts';

const template: CompiledTemplate = {
  key: 'acme',
  tier: 'global',
  ownerId: null,
  version: 1,
  title: 'Acme',
  description: '',
  category: '',
  runtime: 'http',
  server: null,
  hosts: ['api.example.com'],
  auth: [],
  security: [],
  actions: {},
};
const pin = { hash: 'a'.repeat(64), headers: [] };
const mcp: NonNullable<CompiledTemplate['mcp']> = {
  path: '/mcp',
  autodiscover: true,
  overrides: {},
  protocolVersion: null,
  pins: {},
};

describe('the digest of a template', () => {
  test('depends on the content of the template, not on its version number or the order of its fields', () => {
    const { key, ...others } = template;
    expect(templateDigestOf({ ...others, key })).toBe(templateDigestOf(template));
    expect(templateDigestOf({ ...template, version: 2 })).toBe(templateDigestOf(template));
    expect(templateDigestOf({ ...template, hosts: [] })).not.toBe(templateDigestOf(template));
    const readTemplate = JSON.parse(JSON.stringify(template)) as CompiledTemplate;
    expect(templateDigestOf(readTemplate)).toBe(templateDigestOf(template));
  });

  test('does not depend on the words that only the search reads', () => {
    const intents = { create_issue: ['report a bug'] };
    expect(templateDigestOf({ ...template, intents })).toBe(templateDigestOf(template));
    const authoredTemplate: CompiledTemplate = { ...template, runtime: 'mcp', mcp };
    expect(authoredDigestOf({ ...authoredTemplate, intents })).toBe(
      authoredDigestOf(authoredTemplate),
    );
  });

  test("covers accepted MCP tools, which the template's author did not write", () => {
    const authoredTemplate: CompiledTemplate = { ...template, runtime: 'mcp', mcp };
    const acceptedTemplate: CompiledTemplate = {
      ...authoredTemplate,
      mcp: { ...mcp, protocolVersion: '2026-07-28', pins: { search: pin } },
    };
    expect(templateDigestOf(acceptedTemplate)).not.toBe(templateDigestOf(authoredTemplate));
    expect(authoredDigestOf(acceptedTemplate)).toBe(authoredDigestOf(authoredTemplate));
    const movedTemplate = {
      ...acceptedTemplate,
      mcp: { ...acceptedTemplate.mcp, path: '/other' },
    } as CompiledTemplate;
    expect(authoredDigestOf(movedTemplate)).not.toBe(authoredDigestOf(authoredTemplate));
  });

  test('can be computed for schemas that are nested deeper than the parameters of a call may be', () => {
    let schema: Record<string, object> = {};
    for (let level = 0; level < 200; level += 1) schema = { properties: schema };
    expect(templateDigestOf({ ...template, actions: schema as never })).toMatch(/^[0-9a-f]{64}$/);
  });
});
