import { fileURLToPath } from 'node:url';

import { beforeAll, describe, expect, test } from 'vitest';

import { anchorsOf, citationsIn, findBroken, findUnpublished, readTree } from './citations.ts';
import type { Tree } from './citations.ts';

let repository: Tree;
beforeAll(async () => {
  repository = await readTree(fileURLToPath(new URL('../..', import.meta.url)));
});

describe('in this repository', () => {
  test('every cited document and heading exists', () => {
    expect(findBroken(repository)).toEqual([]);
  });

  test('no comment cites a document that is not published', () => {
    expect(findUnpublished(repository)).toEqual([]);
  });

  test('the code cites the reference often, and its pages have distinct headings', () => {
    const isCode = (path: string) => /\.tsx?$/.test(path);
    const cited = [...repository.texts]
      .filter(([path]) => isCode(path))
      .flatMap(([path, text]) => citationsIn(path, text))
      .filter(({ file, anchor }) => file.startsWith('docs/reference/') && anchor !== null);
    expect(cited.length).toBeGreaterThan(100);

    const pages = [...repository.texts].filter(([path]) => path.startsWith('docs/reference/'));
    expect(pages.length).toBeGreaterThan(12);
    for (const [, text] of pages) {
      expect(anchorsOf(text).filter((anchor) => /-\d+$/.test(anchor))).toEqual([]);
    }
  });
});

describe('a citation', () => {
  const page = '# Calling\n\n## The five layers\n\n```md\n## Not a heading\n```\n\n## Files\n';
  const treeOf = (texts: Readonly<Record<string, string>>): Tree => {
    const all = { 'docs/calling.md': page, ...texts };
    return {
      texts: new Map(Object.entries(all)),
      paths: new Set([...Object.keys(all), 'docs', 'docs/adr', '.']),
    };
  };

  test.for<[what: string, path: string, text: string, broken: string[]]>([
    ['of a heading', 'a/b.ts', '/** So (docs/calling.md#the-five-layers). */', []],
    ['of a page', 'a/b.sql', '-- See docs/calling.md.', []],
    [
      'of a heading that is gone',
      'a/b.ts',
      '// docs/calling.md#layers',
      ['docs/calling.md#layers'],
    ],
    [
      'of what is no heading',
      'b.ts',
      "'docs/calling.md#not-a-heading'",
      ['docs/calling.md#not-a-heading'],
    ],
    ['of a page that is gone', 'b.ts', '// docs/gone.md#files', ['docs/gone.md#files']],
    ['in a text for users', 'b.ts', "throw new Error('Read docs/gone.md.');", ['docs/gone.md']],
    ['from beside it', 'docs/b.md', '[files](calling.md#files), [here](#b)\n\n# B', []],
    ['from below', 'docs/adr/1.md', '[files](../calling.md#files) [all](../adr/)', []],
    ['from beside it, gone', 'docs/b.md', '[files](calling.md#fils)', ['docs/calling.md#fils']],
    [
      'from above, gone',
      'README.md',
      '[x](docs/x.md) [own](#no)',
      ['docs/x.md', 'docs/x.md', 'README.md#no'],
    ],
    ['of another site', 'docs/b.md', '[a](https://a.example/docs/b.md#c) `[b](c.md)`', []],
  ])('%s', ([, path, text, broken]) => {
    expect(findBroken(treeOf({ [path]: text }))).toEqual(broken.map((each) => `${path}: ${each}`));
  });

  test.for<[heading: string, anchor: string]>([
    ['## What a deny reaches', 'what-a-deny-reaches'],
    ['### Tools: `tools/call` (MCP)', 'tools-toolscall-mcp'],
    ['# `a_b` and [c](d.md)', 'a_b-and-c'],
    ['## OAuth and JSON-RPC', 'oauth-and-json-rpc'],
    ['## Ünder – way', 'ünder--way'],
  ])('of "%s" has the anchor %s', ([heading, anchor]) => {
    expect(anchorsOf(heading)).toEqual([anchor]);
  });

  test('of the second heading of one name counts it', () => {
    expect(anchorsOf('# States\n\n## States\n')).toEqual(['states', 'states-1']);
  });
});

describe('a comment that cites what is not published', () => {
  const found = (path: string, text: string) => findUnpublished({ texts: new Map([[path, text]]) });

  test.for([
    ['a.ts', '/** The walk (decisions: The walk). */'],
    ['a.ts', ' * kept for a day (spec: Errors, 2) and no longer.'],
    ['a.tsx', 'const a = 1; // (reliability: O6)'],
    ['a.ts', '/** Spec: Webhooks, headers. */'],
    ['a.ts', '// as decisions section 12 says (threat K4)'],
    ['a.sql', '-- For a day (decisions: Lifetimes).'],
    ['a.md', 'It holds (decisions, section 2).'],
  ])('is found in %s: %s', ([path = '', text = '']) => {
    expect(found(path, text)).toEqual([`${path}: ${text.replace(/^const a = 1; /, '').trim()}`]);
  });

  test.for([
    ['a.ts', 'function allowed(spec: CallSpec, decisions: Decision[]): void {}'],
    ['a.ts', '/** The decisions of people (docs/reference/approvals.md#decisions). */'],
    ['a.md', 'Its [security model](security.md) names each threat and its test.'],
  ])('is not %s: %s', ([path = '', text = '']) => {
    expect(found(path, text)).toEqual([]);
  });
});
