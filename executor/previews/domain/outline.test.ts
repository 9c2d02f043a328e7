import { createHash } from 'node:crypto';

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { ShownRequest } from '#contracts/http/approvals';
import type { JsonValue } from '#contracts/vocabulary';
import { cpuMsOf } from '../../../test/support/cpu.ts';
import { fitOutline } from './outline.ts';

const bytesMax = 4_000;
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

function requestWith(differences: Partial<ShownRequest>): ShownRequest {
  return {
    method: 'POST',
    url: 'https://api.example.com/things?q=1',
    params: {},
    headers: { sudo: 'root' },
    content_type: 'application/json',
    body: null,
    credentials: [
      { kind: 'secret', name: 'key', in: 'header', key: 'Authorization', prefix: 'Bearer ' },
    ],
    ...differences,
  };
}

const sizeOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

describe('a request that is too large to be shown', () => {
  test('is shown whole except for long values, which are listed with their size and digest', () => {
    const padding = 'é'.repeat(5_000);
    const body = { title: 'Fix typo', labels: ['evil'], content: padding, force: true };

    const shownOutline = fitOutline(requestWith({ body }), bytesMax);

    expect(shownOutline).toEqual({
      ...requestWith({}),
      body: { ...body, content: expect.stringMatching(/^é{60,}…$/) },
      too_large: true,
      shortened: [{ at: '/body/content', bytes: 10_000, sha256: sha256(padding) }],
    });
    expect(sizeOf(shownOutline)).toBeLessThanOrEqual(bytesMax);
  });

  test('shows as many values of a list as fit, and how many the list has', () => {
    const labels = Array.from({ length: 5_000 }, (_, at) => `label ${at}`);

    const shownOutline = fitOutline(requestWith({ body: { labels, title: 'kept' } }), bytesMax);

    const { body, shortened } = shownOutline as ShownRequest & { body: { labels: string[] } };
    expect(body).toMatchObject({ title: 'kept' });
    expect(body.labels.length).toBeGreaterThan(20);
    expect(body.labels).toEqual(labels.slice(0, body.labels.length));
    expect(shortened).toEqual([
      {
        at: '/body/labels',
        bytes: sizeOf(labels),
        sha256: sha256(JSON.stringify(labels)),
        entries: 5_000,
        shown: body.labels.length,
      },
    ]);
  });

  test('shortens long names so that two shortened names are never equal', () => {
    const longText = 'n'.repeat(3_000);
    const body = { [`${longText}1`]: 1, [`${longText}2`]: 2 };

    const shownOutline = fitOutline(requestWith({ body }), bytesMax);

    expect(Object.values(shownOutline.body as object)).toEqual([1, 2]);
    expect(Object.keys(shownOutline.body as object)[0]).toBe(
      `${'n'.repeat(60)}… (sha256 ${sha256(`${longText}1`)})`,
    );
    expect(shownOutline.shortened).toMatchObject([{ at: '/body', entries: 2, shown: 2 }]);
  });

  test('shows headers, URL and credentials, however large the body is', () => {
    const shownOutline = fitOutline(requestWith({ body: 'x'.repeat(1_000_000) }), bytesMax);

    const { url, headers, credentials } = requestWith({});
    expect(shownOutline).toMatchObject({ url, headers, credentials, too_large: true });
  });

  test('shortens a URL, a header or parameters that are themselves too long', () => {
    const longText = 'h'.repeat(50_000);
    const url = `https://api.example.com/search?q=${longText}`;

    const shownOutline = fitOutline(
      requestWith({ url, headers: { 'x-long': longText }, params: { q: longText } }),
      4_000,
    );

    expect(shownOutline.url).toMatch(/^https:\/\/api\.example\.com\/search\?q=h{60}/);
    expect(shownOutline.shortened?.map(({ at }) => at)).toEqual([
      '/url',
      '/params/q',
      '/headers/x-long',
    ]);
  });

  test('shows deeper values as JSON text', () => {
    let body: JsonValue = 'x'.repeat(10_000);
    for (let depth = 0; depth < 40; depth += 1) body = { a: body };

    const shownOutline = fitOutline(requestWith({ body }), bytesMax);

    expect(shownOutline.shortened).toMatchObject([{ at: `/body${'/a'.repeat(12)}` }]);
  });

  test('never exceeds its limit, and never hides a small value because of large ones', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.integer({ min: 0, max: 9_000 }).map((length) => '"\u0000é'.repeat(length)),
    );
    const large = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' });
    const anyJson = fc.oneof(
      text,
      fc.array(text, { maxLength: 50 }),
      fc.dictionary(text, fc.oneof(text, large), { maxKeys: 40 }),
    );
    fc.assert(
      fc.property(anyJson, fc.string({ maxLength: 40 }), (value, small) => {
        const padding = [value, 'x'.repeat(20_000)] as JsonValue;
        const body = { padding, small } as JsonValue;
        const shownOutline = fitOutline(requestWith({ body, params: body }), 20_000);
        expect(sizeOf(shownOutline)).toBeLessThanOrEqual(20_000);
        expect(shownOutline).toMatchObject({ body: { small }, params: { small } });
        expect(shownOutline.shortened?.length).toBeGreaterThan(0);
      }),
      { numRuns: 500 },
    );
  });

  test('is outlined quickly even when it has long texts that JSON must escape', () => {
    const text = '\\"'.repeat(250_000);
    const shownOutline = requestWith({ body: { text }, params: { text } });
    const json = JSON.stringify(text);
    const parsing = cpuMsOf(() => JSON.parse(json));

    expect(fitOutline(shownOutline, 100_000).shortened).toHaveLength(2);
    expect(cpuMsOf(() => fitOutline(shownOutline, 100_000))).toBeLessThan(5 * parsing);
  });
});
