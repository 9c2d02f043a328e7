import fc from 'fast-check';
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';

import { listDocuments } from '../../../test/corpus/documents.ts';
import { chooseSweepValue } from '../../../test/support/sweeps.ts';
import { compileParsed } from '../../compiler/domain/template.ts';
import { convertDocument } from './convert-document.ts';

const options = { tier: 'org', ownerId: null, version: 1, isDraft: true } as const;

/** The small documents of the test collection, from many vendors. */
const smallDocuments = (await listDocuments()).filter(({ bytes }) => bytes < 30_000);
const sampledDocuments = smallDocuments.filter(
  (_, index) => index % Math.floor(smallDocuments.length / 40) === 0,
);
const sampledTexts = await Promise.all(sampledDocuments.map(({ path }) => readFile(path, 'utf8')));

const seed = 20_261_121;
const valueRuns = chooseSweepValue({ sampled: 150, whole: 400 });
const anySampledText = fc.constantFrom(...sampledTexts);

/**
 * Imports a document, and checks that the result compiles. Returns false when the import refuses
 * the document.
 */
function importAndCompile(text: string): boolean {
  const imported = convertDocument({ text });
  if (!imported.ok) {
    expect(imported.findings.some(({ severity }) => severity === 'error')).toBe(true);
    return false;
  }
  const { report } = compileParsed(imported.document, options);
  expect(report.errors).toEqual([]);
  expect(Object.getPrototypeOf({})).not.toHaveProperty('polluted');
  return true;
}

const oddValues = [
  'null',
  'true',
  '0',
  '-1',
  '1e999',
  '""',
  '"x"',
  '[]',
  '{}',
  '[null]',
  '[[]]',
  '[{}]',
  '{"$ref":"#"}',
  '{"$ref":"#/paths"}',
  '{"$ref":"http://169.254.169.254/"}',
  '{"$ref":7}',
  '{"$ref":"#/components/schemas"}',
  '{"__proto__":{"polluted":1}}',
  '{"type":"object"}',
  '"\\u0000"',
  '"\\ud800"',
  '"{}"',
  '"../.."',
  '{"a":{"$ref":"#/a"}}',
  '9007199254740993',
];

const insertedTexts = ['{', '}', '[', ']', ':', ',', '"', '\\', ' ', '0', 'n'];

/** Lists the paths of all values in a document. */
function listPaths(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, item]) => listPaths(item, [...path, key]))];
}

function replaceAt(document: unknown, path: readonly (string | number)[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined || typeof document !== 'object' || document === null) return value;
  const copy: Record<string, unknown> = Array.isArray(document)
    ? (document as unknown as Record<string, unknown>)
    : { ...document };
  copy[key] = replaceAt(copy[key], rest, value);
  return copy;
}

describe('importing the OpenAPI document of a real product', () => {
  test('refuses the document when it is cut off anywhere', () => {
    fc.assert(
      fc.property(anySampledText, fc.double({ min: 0, max: 1, noNaN: true }), (text, share) => {
        expect(
          importAndCompile(text.slice(0, Math.floor(share * (text.trimEnd().length - 1)))),
        ).toBe(false);
      }),
      { seed, numRuns: 300 },
    );
  });

  test('either imports or refuses the document after a value was replaced by another value', () => {
    fc.assert(
      fc.property(
        anySampledText,
        fc.nat(),
        fc.constantFrom(...oddValues),
        (text, place, oddValue) => {
          const document: unknown = JSON.parse(text);
          const valuePaths = listPaths(document);
          const changed = replaceAt(document, valuePaths[place % valuePaths.length]!, 'SWAPPED');
          importAndCompile(JSON.stringify(changed).replace('"SWAPPED"', () => oddValue));
        },
      ),
      { seed, numRuns: valueRuns },
    );
  });

  test('either imports or refuses the document after a part was replaced by another part', () => {
    fc.assert(
      fc.property(anySampledText, fc.nat(), fc.nat(), (text, from, to) => {
        const document: unknown = JSON.parse(text);
        const valuePaths = listPaths(document);
        const part = valuePaths[from % valuePaths.length]!.reduce<unknown>(
          (value, step) => (value as Record<string, unknown>)[step],
          document,
        );
        const copy: unknown = JSON.parse(JSON.stringify(part));
        importAndCompile(
          JSON.stringify(replaceAt(document, valuePaths[to % valuePaths.length]!, copy)),
        );
      }),
      { seed, numRuns: valueRuns },
    );
  });

  test('either imports or refuses the document after characters were changed', () => {
    const anyEdit = fc.tuple(fc.nat(), fc.constantFrom(...insertedTexts, '$ref', '#/', '\u0000'));
    fc.assert(
      fc.property(
        anySampledText,
        fc.array(anyEdit, { minLength: 1, maxLength: 5 }),
        (text, madeEdits) => {
          const changed = madeEdits.reduce((current, [at, insert]) => {
            const index = at % current.length;
            return current.slice(0, index) + insert + current.slice(index + 1);
          }, text);
          importAndCompile(changed);
        },
      ),
      { seed, numRuns: valueRuns },
    );
  });

  test('gives the same result when the document is imported twice', () => {
    fc.assert(
      fc.property(anySampledText, (text) => {
        expect(convertDocument({ text })).toEqual(convertDocument({ text }));
      }),
      { seed, numRuns: 40 },
    );
  });
});
