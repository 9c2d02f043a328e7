import { readFileSync } from 'node:fs';

import { expect, test } from 'vitest';

import { compileTemplate } from '../../compiler/domain/template.ts';
import { builtInKeys } from '../../templates/built-in-keys.testing.ts';

const directory = new URL('../../../service-templates/', import.meta.url);

/** Templates of MCP servers, which declare no security schemes and so no labels. */
const keysWithoutSchemes = new Set(['linear']);

test.for(builtInKeys.filter((key) => !keysWithoutSchemes.has(key)))(
  'the ways to connect %s have different labels',
  (key) => {
    const text = readFileSync(new URL(`${key}.yaml`, directory), 'utf8');
    const { template } = compileTemplate(text, { tier: 'global', ownerId: null, version: 1 });
    const labels = template?.auth.map(({ label }) => label) ?? [];

    expect(labels.filter((label) => label === undefined || label === '')).toEqual([]);
    expect(new Set(labels).size).toBe(labels.length);
  },
);
