import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { createScrubber } from './scrub.ts';
import { encodings } from './encodings.ts';

const value = 'CANARY-0192?+/ "x"';
const bytes = Buffer.from(value);

const toHex = (byte: number) => byte.toString(16).padStart(2, '0');

describe('the scrubber', () => {
  const scrubber = createScrubber([value]);

  test.for<[encoded: string, text: string]>([
    ['as it is', value],
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
    ['URL-encoded byte by byte', [...bytes].map((byte) => `%${toHex(byte)}`).join('')],
    ['in JSON in JSON', JSON.stringify(JSON.stringify({ token: value }))],
    ['in JSON with escaped slashes', JSON.stringify(value).replaceAll('/', '\\/')],
    [
      'in JSON escapes',
      Array.from(value)
        .map((each) => `\\u00${toHex(each.charCodeAt(0))}`)
        .join(''),
    ],
    ['in a URL in base64', encodeURIComponent(Buffer.from(`me:${value}`).toString('base64'))],
    ['in HTML', value.replaceAll('"', '&quot;')],
    ['in HTML with quotes as numbers', value.replaceAll('"', '&#34;')],
    [
      'in HTML with every character as a number',
      Array.from(value)
        .map((each) => `&#${each.charCodeAt(0)};`)
        .join(''),
    ],
    ['in hex with colons', [...bytes].map(toHex).join(':')],
    ['in escaped bytes', [...bytes].map((byte) => `\\x${toHex(byte)}`).join('')],
    ['in UTF-16', Buffer.from(value, 'utf16le').toString('latin1')],
  ])('removes a value that is written %s', ([, text]) => {
    const clean = scrubber.text(`before ${text} after`);

    expect(clean).toContain('[REDACTED]');
    expect(clean).not.toContain('CANARY');
    expect(clean).toMatch(/^before .* after$/s);
  });

  test('finds every encoding of a value at any position', () => {
    const shortSecret = fc.string({ minLength: 4, maxLength: 40, unit: 'grapheme' });
    const key = fc.base64String({ minLength: 4, maxLength: 60 });
    const surroundingText = fc.string({ maxLength: 20 });
    fc.assert(
      fc.property(
        fc.oneof(shortSecret, key),
        surroundingText,
        surroundingText,
        (secret, before, after) => {
          const secretScrubber = createScrubber([secret]);
          for (const encoded of encodings(secret)) {
            if (encoded.length < 4) continue;
            expect(secretScrubber.text(encoded)).toContain('[REDACTED]');
            expect(secretScrubber.text(before + encoded + after)).toContain('[REDACTED]');
          }
        },
      ),
    );
  });

  const oddSecret = "CANARY-<b>&'é/???>>>";
  const toHtmlSafeJson = (spellDigits: (code: string) => string) =>
    JSON.stringify(oddSecret).replace(
      /[<>&']/g,
      (each) => `\\u${spellDigits(each.charCodeAt(0).toString(16).padStart(4, '0'))}`,
    );
  const toPhpJson = (text: string) => text.replaceAll('/', '\\/');
  test.for<[encoded: string, text: string]>([
    ['in JSON that may stand in HTML', toHtmlSafeJson((code) => code)],
    ['in JSON that may stand in HTML, in upper case', toHtmlSafeJson((code) => code.toUpperCase())],
    [
      'as PHP writes JSON that may stand in HTML',
      toPhpJson(toHtmlSafeJson((code) => code.toUpperCase())),
    ],
    [
      'in base64 in JSON as PHP writes it',
      toPhpJson(Buffer.from(`ab:${oddSecret}`).toString('base64')),
    ],
  ])('removes a value with special characters that is written %s', ([, text]) => {
    const clean = createScrubber([oddSecret]).text(`<${text}>`);

    expect(clean).toContain('[REDACTED]');
    expect(clean.length).toBeLessThan(25);
  });

  test('finds values that are written with JSON escapes', () => {
    const escapedJson = `{"a":["\\u0043ANARY-0192?+\\/ \\"x\\""]}`;

    expect(scrubber.json(JSON.parse(escapedJson))).toEqual({ a: ['[REDACTED]'] });
  });

  test('removes the password of a user:password pair when it occurs alone, and the whole pair in base64', () => {
    const pairScrubber = createScrubber(['ann:CANARY-pw']);
    const encodedCredential = Buffer.from('ann:CANARY-pw').toString('base64');
    const password = Buffer.from('CANARY-pw').toString('base64');

    expect(pairScrubber.text('{"user":"ann","pw":"CANARY-pw"}')).toBe(
      '{"user":"ann","pw":"[REDACTED]"}',
    );
    expect(pairScrubber.text(`Basic ${encodedCredential}.`)).toMatch(/^Basic \[REDACTED\]\w?=*\.$/);
    expect(pairScrubber.text(`${password}, 43414e4152592d7077`)).toMatch(
      /^\[REDACTED\]\w?=*, \[REDACTED\]$/,
    );
  });

  test.for(['\n', '\r\n', '\\r\\n', '\n  '])(
    'removes base64 that is folded into lines by %j',
    (lineBreak) => {
      const longValue = `CANARY-${'0123456789abcdef'.repeat(10)}`;
      for (const before of ['', 'x', 'xy', 'Authorization: Bearer ']) {
        const foldedBase64 = Buffer.from(`${before}${longValue}`)
          .toString('base64')
          .replace(/.{76}/g, (line) => line + lineBreak);
        const clean = createScrubber([longValue]).text(`<${foldedBase64}>`);

        expect(clean).toContain('[REDACTED]');
        expect(clean.length).toBeLessThan(60);
      }
    },
  );

  test('removes a value with non-ASCII characters in any charset', () => {
    const nonAsciiPassword = 'CANARY-schlüssel-日本';
    const ascii = JSON.stringify(nonAsciiPassword).replace(
      /[^\0-\x7f]/g,
      (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    const spellings = [
      nonAsciiPassword,
      ascii,
      encodeURIComponent(nonAsciiPassword),
      Buffer.from(nonAsciiPassword).toString('latin1'),
    ];
    for (const encoded of spellings)
      expect(createScrubber([nonAsciiPassword]).text(`<${encoded}>`)).toMatch(
        /^<"?\[REDACTED\]"?>$/,
      );
  });

  test('removes a value that is a number', () => {
    expect(createScrubber(['12345678']).json({ pin: 12345678, other: 1 })).toEqual({
      pin: '[REDACTED]',
      other: 1,
    });
  });

  test('changes no other text, and does not remove values that are too short', () => {
    expect(scrubber.text('nothing here')).toBe('nothing here');
    expect(createScrubber(['a']).text('banana')).toBe('banana');
    expect(createScrubber([]).json({ a: 1 })).toEqual({ a: 1 });
  });
});
