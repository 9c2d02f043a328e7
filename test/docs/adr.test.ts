import { readFile, readdir } from 'node:fs/promises';

import { beforeAll, describe, expect, test } from 'vitest';

const folder = new URL('../../docs/adr/', import.meta.url);

let recordNames: string[];
let overview: string;
const statuses = new Map<number, string>();
beforeAll(async () => {
  recordNames = (await readdir(folder)).filter((name) => name !== 'README.md').toSorted();
  overview = await readFile(new URL('README.md', folder), 'utf8');
  for (const name of recordNames) {
    const [, status = ''] =
      /^\| \d{4}-\d\d-\d\d \| (.*) \|$/m.exec(await readFile(new URL(name, folder), 'utf8')) ?? [];
    statuses.set(numberOf(name), status);
  }
});

const numberOf = (fileName: string): number => Number(fileName.slice(0, 4));
/** The numbers of the ADRs that follow a word in a status, as in `revised by ADR 80 and ADR 81`. */
const numbersAfter = (word: string, status: string): number[] => {
  const [, list = ''] =
    new RegExp(`${word} ((?:(?:,| and)? ?\\[?ADR \\d+(?:\\]\\([^)]*\\))?)+)`).exec(status) ?? [];
  return [...list.matchAll(/ADR (\d+)/g)].map(([, number]) => Number(number));
};

describe('the list of ADRs in docs/adr/README.md', () => {
  test('contains every ADR exactly once, under its number', () => {
    const rows = [...overview.matchAll(/^\| \[(\d+)\]\(([^)]+)\) \| .+ \|$/gm)];

    expect(rows.map(([, , name = '']) => name).toSorted()).toEqual(recordNames);
    expect(rows.map(([, number]) => Number(number))).toEqual(
      rows.map(([, , name = '']) => numberOf(name)),
    );
  });
});

describe('every ADR', () => {
  test('has a status', () => {
    expect([...statuses].filter(([, status]) => status === '')).toEqual([]);
  });

  test('names the ADRs that it revises, and these ADRs name it', () => {
    const pairsOf = (word: string) =>
      [...statuses].flatMap(([number, status]) =>
        numbersAfter(word, status).map((other) => ({ number, other })),
      );
    const revisingPairs = pairsOf('revises');
    const revisedPairs = pairsOf('revised by').map(({ number, other }) => ({
      number: other,
      other: number,
    }));
    const byText = (pairs: readonly object[]) =>
      pairs.map((pair) => JSON.stringify(pair)).toSorted();

    expect(revisingPairs).not.toEqual([]);
    expect(byText(revisingPairs)).toEqual(byText(revisedPairs));
  });
});
