import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { createScrubber } from './scrub.ts';
import { spellings } from './spellings.ts';

const value = 'CANARY-0192?+/ "x"';
const bytes = Buffer.from(value);

const hex = (byte: number) => byte.toString(16).padStart(2, '0');

describe('the scrubber', () => {
  const scrubber = createScrubber([value]);

  test.for<[spelling: string, text: string]>([
    ['raw', value],
    ['in JSON', JSON.stringify({ token: value })],
    ['in base64', bytes.toString('base64')],
    ['in base64url', bytes.toString('base64url')],
    ['in base64 behind one character', Buffer.from(`a${value}`).toString('base64')],
    ['in base64 behind a user name', Buffer.from(`me:${value}`).toString('base64')],
    ['in base64 with a prefix', Buffer.from(`Bearer ${value} end`).toString('base64')],
    ['in hex', bytes.toString('hex')],
    ['in upper-case hex', bytes.toString('hex').toUpperCase()],
    ['URL-encoded', encodeURIComponent(value)],
    ['form-encoded', new URLSearchParams({ a: value }).toString()],
    [
      'URL-encoded in lower case',
      encodeURIComponent(value).toLowerCase().replace('canary', 'CANARY'),
    ],
    ['URL-encoded twice', encodeURIComponent(encodeURIComponent(value))],
    ['URL-encoded byte by byte', [...bytes].map((byte) => `%${hex(byte)}`).join('')],
    ['in JSON in JSON', JSON.stringify(JSON.stringify({ token: value }))],
    ['in JSON with escaped slashes', JSON.stringify(value).replaceAll('/', '\\/')],
    [
      'in JSON escapes',
      Array.from(value)
        .map((each) => `\\u00${hex(each.charCodeAt(0))}`)
        .join(''),
    ],
    ['in a URL in base64', encodeURIComponent(Buffer.from(`me:${value}`).toString('base64'))],
    ['in HTML', value.replaceAll('"', '&quot;')],
    ['in HTML by numbers', value.replaceAll('"', '&#34;')],
    [
      'in HTML by numbers alone',
      Array.from(value)
        .map((each) => `&#${each.charCodeAt(0)};`)
        .join(''),
    ],
    ['in hex with colons', [...bytes].map(hex).join(':')],
    ['in escaped bytes', [...bytes].map((byte) => `\\x${hex(byte)}`).join('')],
    ['in UTF-16', Buffer.from(value, 'utf16le').toString('latin1')],
  ])('removes a value %s', ([, text]) => {
    const clean = scrubber.text(`before ${text} after`);

    expect(clean).toContain('[REDACTED]');
    expect(clean).not.toContain('CANARY');
    expect(clean).toMatch(/^before .* after$/s);
  });

  test('looks for every spelling of any value, wherever it could be', () => {
    const short = fc.string({ minLength: 4, maxLength: 40, unit: 'grapheme' });
    const key = fc.base64String({ minLength: 4, maxLength: 60 });
    const around = fc.string({ maxLength: 20 });
    fc.assert(
      fc.property(fc.oneof(short, key), around, around, (secret, before, after) => {
        const ofSecret = createScrubber([secret]);
        for (const spelling of spellings(secret)) {
          if (spelling.length < 4) continue;
          expect(ofSecret.text(spelling)).toContain('[REDACTED]');
          expect(ofSecret.text(before + spelling + after)).toContain('[REDACTED]');
        }
      }),
    );
  });

  const odd = "CANARY-<b>&'é/???>>>";
  const inHtml = (digits: (code: string) => string) =>
    JSON.stringify(odd).replace(
      /[<>&']/g,
      (each) => `\\u${digits(each.charCodeAt(0).toString(16).padStart(4, '0'))}`,
    );
  const inPhp = (text: string) => text.replaceAll('/', '\\/');
  test.for<[spelling: string, text: string]>([
    ['in JSON that may stand in HTML', inHtml((code) => code)],
    ['in JSON that may stand in HTML, in upper case', inHtml((code) => code.toUpperCase())],
    ['in JSON of PHP that may stand in HTML', inPhp(inHtml((code) => code.toUpperCase()))],
    ['in base64 in JSON of PHP', inPhp(Buffer.from(`ab:${odd}`).toString('base64'))],
  ])('removes a value with other characters %s', ([, text]) => {
    const clean = createScrubber([odd]).text(`<${text}>`);

    expect(clean).toContain('[REDACTED]');
    expect(clean.length).toBeLessThan(25);
  });

  test('finds what JSON escapes hide', () => {
    const hidden = `{"a":["\\u0043ANARY-0192?+\\/ \\"x\\""]}`;

    expect(scrubber.json(JSON.parse(hidden))).toEqual({ a: ['[REDACTED]'] });
  });

  test('removes the password of a pair alone, and the pair as it was sent', () => {
    const pair = createScrubber(['ann:CANARY-pw']);
    const sent = Buffer.from('ann:CANARY-pw').toString('base64');
    const password = Buffer.from('CANARY-pw').toString('base64');

    expect(pair.text('{"user":"ann","pw":"CANARY-pw"}')).toBe('{"user":"ann","pw":"[REDACTED]"}');
    expect(pair.text(`Basic ${sent}.`)).toMatch(/^Basic \[REDACTED\]\w?=*\.$/);
    expect(pair.text(`${password}, 43414e4152592d7077`)).toMatch(
      /^\[REDACTED\]\w?=*, \[REDACTED\]$/,
    );
  });

  test.for(['\n', '\r\n', '\\r\\n', '\n  '])('removes base64 folded by %j', (fold) => {
    const long = `CANARY-${'0123456789abcdef'.repeat(10)}`;
    for (const before of ['', 'x', 'xy', 'Authorization: Bearer ']) {
      const folded = Buffer.from(`${before}${long}`)
        .toString('base64')
        .replace(/.{76}/g, (line) => line + fold);
      const clean = createScrubber([long]).text(`<${folded}>`);

      expect(clean).toContain('[REDACTED]');
      expect(clean.length).toBeLessThan(60);
    }
  });

  test('removes what is beyond ASCII, in any of its encodings', () => {
    const pass = 'CANARY-schlüssel-日本';
    const ascii = JSON.stringify(pass).replace(
      /[^\0-\x7f]/g,
      (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    const all = [pass, ascii, encodeURIComponent(pass), Buffer.from(pass).toString('latin1')];
    for (const spelling of all)
      expect(createScrubber([pass]).text(`<${spelling}>`)).toMatch(/^<"?\[REDACTED\]"?>$/);
  });

  test('removes a value that is a number', () => {
    expect(createScrubber(['12345678']).json({ pin: 12345678, other: 1 })).toEqual({
      pin: '[REDACTED]',
      other: 1,
    });
  });

  test('leaves everything else alone, and what is too short to be a secret', () => {
    expect(scrubber.text('nothing here')).toBe('nothing here');
    expect(createScrubber(['a']).text('banana')).toBe('banana');
    expect(createScrubber([]).json({ a: 1 })).toEqual({ a: 1 });
  });
});
