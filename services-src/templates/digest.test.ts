import { describe, expect, test } from 'vitest';

import type { CompiledTemplate } from '#contracts/template';
import { authoredDigest, templateDigest } from './digest.ts';

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
  test('is of what it says, whatever number it has and in whatever order it says it', () => {
    const { key, ...others } = template;
    expect(templateDigest({ ...others, key })).toBe(templateDigest(template));
    expect(templateDigest({ ...template, version: 2 })).toBe(templateDigest(template));
    expect(templateDigest({ ...template, hosts: [] })).not.toBe(templateDigest(template));
    const read = JSON.parse(JSON.stringify(template)) as CompiledTemplate;
    expect(templateDigest(read)).toBe(templateDigest(template));
  });

  test('covers accepted tools, which its author did not write', () => {
    const authored: CompiledTemplate = { ...template, runtime: 'mcp', mcp };
    const accepted: CompiledTemplate = {
      ...authored,
      mcp: { ...mcp, protocolVersion: '2026-07-28', pins: { search: pin } },
    };
    expect(templateDigest(accepted)).not.toBe(templateDigest(authored));
    expect(authoredDigest(accepted)).toBe(authoredDigest(authored));
    const moved = { ...accepted, mcp: { ...accepted.mcp, path: '/other' } } as CompiledTemplate;
    expect(authoredDigest(moved)).not.toBe(authoredDigest(authored));
  });

  test('can be made of schemas deeper than a call may be', () => {
    let schema: Record<string, object> = {};
    for (let level = 0; level < 200; level += 1) schema = { properties: schema };
    expect(templateDigest({ ...template, actions: schema as never })).toMatch(/^[0-9a-f]{64}$/);
  });
});
