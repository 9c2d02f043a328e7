import { fileURLToPath } from 'node:url';

import { beforeAll, describe, expect, test } from 'vitest';

import {
  anchorsOf,
  citationsIn,
  findBrokenCitations,
  findUnpublishedCitations,
  readTree,
} from './citations.ts';
import type { Tree } from './citations.ts';

let repository: Tree;
beforeAll(async () => {
  repository = await readTree(fileURLToPath(new URL('../..', import.meta.url)));
});

describe('the texts of this repository', () => {
  test('cite only documents and headings that exist', () => {
    expect(findBrokenCitations(repository)).toEqual([]);
  });

  test('have no comments that cite an unpublished document', () => {
    expect(findUnpublishedCitations(repository)).toEqual([]);
  });

  test('cite the reference more than a hundred times in code, and no page of the reference has two equal headings', () => {
    const isCode = (path: string) => /\.tsx?$/.test(path);
    const citationsInCode = [...repository.texts]
      .filter(([path]) => isCode(path))
      .flatMap(([path, text]) => citationsIn(path, text))
      .filter(({ file, anchor }) => file.startsWith('docs/reference/') && anchor !== null);
    expect(citationsInCode.length).toBeGreaterThan(100);

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
    [
      'of an existing heading is accepted',
      'a/b.ts',
      '/** So (docs/calling.md#the-five-layers). */',
      [],
    ],
    ['of an existing page is accepted', 'a/b.sql', '-- See docs/calling.md.', []],
    [
      'of a heading that does not exist is reported',
      'a/b.ts',
      '// docs/calling.md#layers',
      ['docs/calling.md#layers'],
    ],
    [
      'of a line in a code block that only looks like a heading is reported',
      'b.ts',
      "'docs/calling.md#not-a-heading'",
      ['docs/calling.md#not-a-heading'],
    ],
    ['of a missing document is reported', 'b.ts', '// docs/gone.md#files', ['docs/gone.md#files']],
    [
      'of a missing document in an error message is reported',
      'b.ts',
      "throw new Error('Read docs/gone.md.');",
      ['docs/gone.md'],
    ],
    [
      'of an existing heading in a document of the same folder is accepted',
      'docs/b.md',
      '[files](calling.md#files), [here](#b)\n\n# B',
      [],
    ],
    [
      'of an existing heading in a document of the parent folder is accepted',
      'docs/adr/1.md',
      '[files](../calling.md#files) [all](../adr/)',
      [],
    ],
    [
      'of a missing heading in a document of the same folder is reported',
      'docs/b.md',
      '[files](calling.md#fils)',
      ['docs/calling.md#fils'],
    ],
    [
      'of a missing document in a subfolder is reported',
      'README.md',
      '[x](docs/x.md) [own](#no)',
      ['docs/x.md', 'docs/x.md', 'README.md#no'],
    ],
    [
      'of a document on another site is not checked',
      'docs/b.md',
      '[a](https://a.example/docs/b.md#c) `[b](c.md)`',
      [],
    ],
  ])('%s', ([, path, text, broken]) => {
    expect(findBrokenCitations(treeOf({ [path]: text }))).toEqual(
      broken.map((each) => `${path}: ${each}`),
    );
  });

  test.for<[heading: string, anchor: string]>([
    ['## What a deny reaches', 'what-a-deny-reaches'],
    ['### Tools: `tools/call` (MCP)', 'tools-toolscall-mcp'],
    ['# `a_b` and [c](d.md)', 'a_b-and-c'],
    ['## OAuth and JSON-RPC', 'oauth-and-json-rpc'],
    ['## Ünder – way', 'ünder--way'],
  ])('of the heading "%s" has the anchor %s', ([heading, anchor]) => {
    expect(anchorsOf(heading)).toEqual([anchor]);
  });

  test('of a heading that occurs twice on a page has an anchor with a number', () => {
    expect(anchorsOf('# States\n\n## States\n')).toEqual(['states', 'states-1']);
  });
});

describe('a comment that cites an unpublished document', () => {
  const findUnpublishedIn = (path: string, text: string) =>
    findUnpublishedCitations({ texts: new Map([[path, text]]) });

  test.for([
    ['a.ts', '/** The walk (decisions: The walk). */'],
    ['a.ts', ' * kept for a day (spec: Errors, 2) and no longer.'],
    ['a.tsx', 'const a = 1; // (reliability: O6)'],
    ['a.ts', '/** Spec: Webhooks, headers. */'],
    ['a.ts', '// as decisions section 12 says (threat K4)'],
    ['a.sql', '-- For a day (decisions: Lifetimes).'],
    ['a.md', 'It holds (decisions, section 2).'],
  ])('is found in %s: %s', ([path = '', text = '']) => {
    expect(findUnpublishedIn(path, text)).toEqual([
      `${path}: ${text.replace(/^const a = 1; /, '').trim()}`,
    ]);
  });

  test.for([
    ['a.ts', 'function allowed(spec: CallSpec, decisions: Decision[]): void {}'],
    ['a.ts', '/** The decisions of people (docs/reference/approvals.md#decisions). */'],
    ['a.md', 'Its [security model](security.md) names each threat and its test.'],
  ])('is not found in %s: %s', ([path = '', text = '']) => {
    expect(findUnpublishedIn(path, text)).toEqual([]);
  });
});
