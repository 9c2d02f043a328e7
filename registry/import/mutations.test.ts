import fc from 'fast-check';
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';

import { listDocuments } from '../../test/corpus/documents.ts';
import { compileParsed } from '../domain/template.ts';
import { convertDocument } from './convert-document.ts';

const options = { tier: 'org', ownerId: null, version: 1, isDraft: true } as const;

/** Small ones, of many vendors, and always the same. */
const small = (await listDocuments()).filter(({ bytes }) => bytes < 30_000);
const sample = small.filter((_, index) => index % Math.floor(small.length / 40) === 0);
const texts = await Promise.all(sample.map(({ path }) => readFile(path, 'utf8')));

const seed = 20_261_121;
const anyText = fc.constantFrom(...texts);

/** Imported or refused; what is imported compiles. Returns which. */
function expectVerdict(text: string): boolean {
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

const edits = ['{', '}', '[', ']', ':', ',', '"', '\\', ' ', '0', 'n'];

/** Every place of a document where a value stands. */
function placesOf(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, item]) => placesOf(item, [...path, key]))];
}

function put(document: unknown, path: readonly (string | number)[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined || typeof document !== 'object' || document === null) return value;
  const copy: Record<string, unknown> = Array.isArray(document)
    ? (document as unknown as Record<string, unknown>)
    : { ...document };
  copy[key] = put(copy[key], rest, value);
  return copy;
}

describe('a real document', () => {
  test('cut anywhere is refused', () => {
    fc.assert(
      fc.property(anyText, fc.double({ min: 0, max: 1, noNaN: true }), (text, share) => {
        expect(expectVerdict(text.slice(0, Math.floor(share * (text.trimEnd().length - 1))))).toBe(
          false,
        );
      }),
      { seed, numRuns: 300 },
    );
  });

  test('with any value swapped for another is imported or refused', () => {
    fc.assert(
      fc.property(anyText, fc.nat(), fc.constantFrom(...oddValues), (text, place, odd) => {
        const document: unknown = JSON.parse(text);
        const places = placesOf(document);
        const changed = put(document, places[place % places.length]!, 'SWAPPED');
        expectVerdict(JSON.stringify(changed).replace('"SWAPPED"', () => odd));
      }),
      { seed, numRuns: 400 },
    );
  });

  test('with any part in place of any other is imported or refused', () => {
    fc.assert(
      fc.property(anyText, fc.nat(), fc.nat(), (text, from, to) => {
        const document: unknown = JSON.parse(text);
        const places = placesOf(document);
        const part = places[from % places.length]!.reduce<unknown>(
          (value, step) => (value as Record<string, unknown>)[step],
          document,
        );
        const copy: unknown = JSON.parse(JSON.stringify(part));
        expectVerdict(JSON.stringify(put(document, places[to % places.length]!, copy)));
      }),
      { seed, numRuns: 400 },
    );
  });

  test('with any characters changed is imported or refused', () => {
    const edit = fc.tuple(fc.nat(), fc.constantFrom(...edits, '$ref', '#/', '\u0000'));
    fc.assert(
      fc.property(anyText, fc.array(edit, { minLength: 1, maxLength: 5 }), (text, made) => {
        const changed = made.reduce((current, [at, insert]) => {
          const index = at % current.length;
          return current.slice(0, index) + insert + current.slice(index + 1);
        }, text);
        expectVerdict(changed);
      }),
      { seed, numRuns: 400 },
    );
  });

  test('is imported the same way twice', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(convertDocument({ text })).toEqual(convertDocument({ text }));
      }),
      { seed, numRuns: 40 },
    );
  });
});
