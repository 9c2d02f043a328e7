import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';

import { describe, expect, test } from 'vitest';

import { settings } from '#config';
import { decisionWordNames } from '#contracts/decision-words';
import { errorCodes } from '#contracts/errors';
import { publicEventTypes } from '#contracts/events';
import { resolveApprovalBody } from '#contracts/http/approvals';

const root = new URL('../../', import.meta.url);
const folder = new URL('docs/reference/', root);
const readPage = (name: string) => readFile(new URL(name, folder), 'utf8');

/** The cells of every row of every Markdown table in a text. */
const rowsOf = (text: string): string[][] =>
  [...text.matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) => row.split(' | '));
const codeIn = (cell = ''): string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

describe('the reference in docs/reference', () => {
  test('lists every error code with its status', async () => {
    const listedCodes = rowsOf(await readPage('errors.md'))
      .filter(([status = '']) => /^\d{3}$/.test(status))
      .flatMap(([status, codes]) => codeIn(codes).map((code) => [code, Number(status)] as const));

    expect(listedCodes).toHaveLength(Object.keys(errorCodes).length);
    expect(Object.fromEntries(listedCodes)).toEqual(
      Object.fromEntries(
        Object.entries(errorCodes).map(([code, { httpStatus }]) => [code, httpStatus]),
      ),
    );
  });

  test('lists every event type that subscribers receive', async () => {
    const listedTypes = rowsOf(await readPage('events.md'))
      .flatMap(([types]) => codeIn(types))
      .filter((type) => /^[a-z_]+\.[a-z_]+$/.test(type));

    expect(listedTypes.toSorted()).toEqual(
      [...publicEventTypes, 'webhook.verification'].toSorted(),
    );
  });

  test('lists every word for a decision about an approval', async () => {
    const [, decisions = ''] =
      /\n## Decisions\n(.*?)\n###? /s.exec(await readPage('approvals.md')) ?? [];
    const listedWords = [...decisions.matchAll(/^\|([^|]*)\|([^|]*)\|/gm)]
      .flatMap(([, word, alias]) => [...codeIn(word), ...codeIn(alias)])
      .filter((word) => word !== 'resolution');

    expect(listedWords.toSorted()).toEqual(decisionWordNames.toSorted());
  });

  test('lists every field of a decision', async () => {
    const [, fields = ''] =
      /\n### Fields of a decision\n(.*?)\n###? /s.exec(await readPage('approvals.md')) ?? [];
    const listedFields = rowsOf(fields).flatMap(([names]) => codeIn(names));

    expect(['resolution', ...listedFields].toSorted()).toEqual(
      Object.keys(resolveApprovalBody.shape).toSorted(),
    );
  });

  test('states the default of each setting that limits.md contains', async () => {
    const limitRows = rowsOf(await readPage('limits.md')).filter(([, name = '']) =>
      /^`[A-Z_]+`$/.test(name),
    );
    const statedLimits = limitRows.map(([, name, value = '']) => [
      codeIn(name)[0],
      Number(value.replaceAll(',', '')),
    ]);

    expect(statedLimits.length).toBeGreaterThan(20);
    expect(statedLimits).toEqual(
      statedLimits.map(([name]) => [
        name,
        settings[name as keyof typeof settings].schema.parse(undefined),
      ]),
    );
  });

  test('refers only to source files that exist', async () => {
    for (const page of await readdir(folder)) {
      const namedPaths = codeIn((await readPage(page)).replaceAll(/```.*?```/gs, '')).filter(
        (text) => /^[\w./-]+\/[\w.-]+\.ts$/.test(text),
      );
      expect(namedPaths.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
    }
  });
});
