import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';

import { describe, expect, test } from 'vitest';

import { settings } from '#config';
import { errorCodes } from '#contracts/errors';
import { publicEventTypes } from '#contracts/events';

const root = new URL('../../', import.meta.url);
const folder = new URL('docs/reference/', root);
const read = (name: string) => readFile(new URL(name, folder), 'utf8');

/** The cells of every row of every table. */
const rowsOf = (text: string): string[][] =>
  [...text.matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) => row.split(' | '));
const codeIn = (cell = ''): string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

describe('the reference', () => {
  test('lists every error code with its status', async () => {
    const listed = rowsOf(await read('errors.md'))
      .filter(([status = '']) => /^\d{3}$/.test(status))
      .flatMap(([status, codes]) => codeIn(codes).map((code) => [code, Number(status)] as const));

    expect(listed).toHaveLength(Object.keys(errorCodes).length);
    expect(Object.fromEntries(listed)).toEqual(
      Object.fromEntries(
        Object.entries(errorCodes).map(([code, { httpStatus }]) => [code, httpStatus]),
      ),
    );
  });

  test('lists every event that subscribers see', async () => {
    const listed = rowsOf(await read('events.md'))
      .flatMap(([types]) => codeIn(types))
      .filter((type) => /^[a-z_]+\.[a-z_]+$/.test(type));

    expect(listed.toSorted()).toEqual([...publicEventTypes, 'webhook.verification'].toSorted());
  });

  test('names the settings of limits with their defaults', async () => {
    const limits = rowsOf(await read('limits.md')).filter(([, name = '']) =>
      /^`[A-Z_]+`$/.test(name),
    );
    const stated = limits.map(([, name, value = '']) => [
      codeIn(name)[0],
      Number(value.replaceAll(',', '')),
    ]);

    expect(stated.length).toBeGreaterThan(20);
    expect(stated).toEqual(
      stated.map(([name]) => [
        name,
        settings[name as keyof typeof settings].schema.parse(undefined),
      ]),
    );
  });

  test('names files that exist', async () => {
    for (const page of await readdir(folder)) {
      const named = codeIn((await read(page)).replaceAll(/```.*?```/gs, '')).filter((text) =>
        /^[\w./-]+\/[\w.-]+\.ts$/.test(text),
      );
      expect(named.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
    }
  });
});
