import { hash } from 'node:crypto';

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { composeBody, composeMail } from './compose-mail.ts';
import type { MailValues } from './mail-fields.ts';
import { hasPython, parseByPython } from './parsed-mail.testing.ts';

const boundary = 'gateway-0123456789';
const fullMail = {
  from: 'Support <support@acme.example>',
  to: ['Ann Berg <ann@acme.example>', 'bob@acme.example'],
  cc: ['Zoë Müller <zoe@acme.example>'],
  bcc: ['audit@other.example'],
  reply_to: 'answers@acme.example',
  subject: 'Minutes – Q3',
  text: 'Hello,\nsee the file.\n',
  html: '<p>Hello</p>',
  in_reply_to: '<1@mail.example>',
  references: '<0@mail.example> <1@mail.example>',
  attachments: [
    { filename: 'Q3 übersicht.pdf', content_type: 'application/pdf', base64: 'JVBERg==' },
  ],
};

describe('a composed message', () => {
  test('has the same bytes each time, with neither a date nor an id', () => {
    const message = composeMail(fullMail, boundary);
    expect(composeMail(structuredClone(fullMail), boundary)).toBe(message);
    expect(message).not.toMatch(/^(?:date|message-id):/im);
    // An approved call is replayed only if its bytes are the approved ones. So if these bytes
    // change in a release, approvals that are open during the upgrade become stale.
    expect(hash('sha256', message)).toBe(
      'ce9d873c8de914b6a0f4f6995715185cb6cee11f082843a2eaa277a8b029d23b',
    );
  });

  test('has only ASCII characters, and lines of at most 76 characters where other characters are encoded', () => {
    const message = composeMail(
      { ...fullMail, subject: 'ü'.repeat(500), to: [`${'ü'.repeat(200)} <ann@acme.example>`] },
      boundary,
    );
    expect(message).toMatch(/^[\x20-\x7e\r\n]*$/);
    expect(message.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    expect(Math.max(...message.split('\r\n').map(({ length }) => length))).toBeLessThanOrEqual(78);
  });

  test('is at the place in the body that the template names, beside the other members', () => {
    const body = { to: ['ann@acme.example'], threadId: '18c2', subject: 'Hi', text: 'Hello' };
    const into = ['message', 'raw'];
    const compose = { format: 'rfc822', into, encoding: 'base64url' } as const;
    const composed = composeBody(body, compose, boundary) as {
      message: { raw: string; threadId: string };
    };
    expect(Object.keys(composed)).toEqual(['message']);
    expect(Object.keys(composed.message)).toEqual(['threadId', 'raw']);
    const message = Buffer.from(composed.message.raw, 'base64url').toString();
    expect(message).toContain('\r\nSubject: Hi\r\n');
    expect(message).not.toContain('18c2');
  });
});

describe('the composer refuses', () => {
  test.for<[what: string, values: MailValues]>([
    ['a line break in the subject', { subject: 'Hi\r\nBcc: eve@evil.example' }],
    ['a bare line feed in the subject', { subject: 'Hi\nBcc: eve@evil.example' }],
    ['a NUL in the subject', { subject: 'Hi\0' }],
    ['half of a character', { subject: '\ud800' }],
    ['several addresses in one value', { to: ['ann@acme.example, eve@evil.example'] }],
    ['a group', { to: ['Team: ann@acme.example, eve@evil.example;'] }],
    ['a display name that is an address', { to: ['eve@evil.example <ann@acme.example>'] }],
    ['a comma in a display name', { cc: ['"Berg, Ann" <ann@acme.example>'] }],
    ['a line break in an address', { bcc: ['ann@acme.example\r\nTo: eve@evil.example'] }],
    ['an address that is not ASCII', { to: ['ann@äcme.example'] }],
    ['an address that is no text', { to: [{ address: 'ann@acme.example' }] }],
    ['several senders', { from: ['ann@acme.example', 'bob@acme.example'] as never }],
    ['more recipients than a message may have', { bcc: Array(101).fill('a@b.example') }],
    ['a header in in_reply_to', { in_reply_to: '<1@a>\r\nBcc: eve@evil.example' }],
    ['several ids in in_reply_to', { in_reply_to: '<1@a> <2@a>' }],
    ['references that are no ids', { references: 'eve@evil.example' }],
    ['a line break in the name of a file', attachment({ filename: 'a\r\nb' })],
    ['a path as the name of a file', attachment({ filename: '../a' })],
    ['a file without a name', attachment({ filename: '' })],
    ['a media type with parameters', attachment({ content_type: 'text/plain; name="x"' })],
    ['a media type that holds other parts', attachment({ content_type: 'message/rfc822' })],
    ['content that is not base64', attachment({ base64: 'YQ' })],
    ['a file by its path', attachment({ path: '/etc/passwd' })],
    ['a file by its address', attachment({ href: 'https://example.com' })],
  ])('%s', ([, values]) => {
    expect(() => composeMail({ to: ['ann@acme.example'], ...values }, boundary)).toThrow(
      expect.objectContaining({ code: 'invalid_params' }),
    );
  });
});

function attachment(parts: Record<string, string>): MailValues {
  return { attachments: [{ filename: 'a.txt', base64: 'YQ==', ...parts }] };
}

/**
 * Texts that a mail parser could mistake for structure, such as headers, boundaries or encoded
 * words.
 */
const specialText = fc.constantFrom(
  '\r\n',
  '\n',
  '"',
  '\\',
  ',',
  ';',
  ':',
  '<',
  '>',
  '@',
  '(',
  ')',
  '=?',
  '?=',
  '%',
  "'",
  ' ',
  '=?UTF-8?B?ZXZlQGV2aWwuZXhhbXBsZQ==?=',
  'Bcc: eve@evil.example',
  'ü',
  '漢',
  '😀',
  '\u2028',
  '--gateway-0123456789-files',
  'eve@evil.example',
  '\t',
  '*0*=',
  "UTF-8''",
  '\u202e',
);
const anyText = fc
  .array(fc.oneof(specialText, fc.string({ unit: 'grapheme', maxLength: 20 })), { maxLength: 12 })
  .map((parts) => parts.join(''));
/** Generates mostly texts that the composer accepts, and some that it refuses. */
function mostlyWithout(refused: RegExp) {
  const accepted = anyText.map((text) => text.replaceAll(refused, ''));
  return fc.oneof({ weight: 20, arbitrary: accepted }, { weight: 1, arbitrary: anyText });
}
const anyLine = mostlyWithout(/\p{Cc}/gu);
const address = fc.tuple(
  mostlyWithout(/["\\@,;:<>()[\]\p{Cc}]|=\?/gu),
  fc.constantFrom('ann@acme.example', "o'neil+x@Sub.Acme.example", 'a.b_c@acme.example'),
);
const addresses = fc
  .array(address, { maxLength: 4 })
  .map((each) => each.map(([name, addr]) => (name === '' ? addr : `${name} <${addr}>`)));
const mail = fc.record(
  {
    to: addresses,
    cc: addresses,
    bcc: addresses,
    subject: anyLine,
    text: anyText,
    html: anyText,
    attachments: fc.array(
      fc.record({
        filename: mostlyWithout(/[\p{Cc}/\\]/gu).map((text) => `${text}.txt`),
        base64: fc
          .uint8Array({ maxLength: 300 })
          .map((bytes) => Buffer.from(bytes).toString('base64')),
      }),
      { maxLength: 3 },
    ),
  },
  { requiredKeys: [] },
);

test.runIf(hasPython)(
  'another parser finds exactly the given recipients, subject, texts and files',
  () => {
    const composed = fc.sample(mail, { numRuns: 300, seed: 89 }).flatMap((values) => {
      try {
        return [{ values, message: composeMail(values as MailValues, boundary) }];
      } catch {
        return [];
      }
    });
    expect(composed.length).toBeGreaterThan(100);
    const parsed = parseByPython(composed.map(({ message }) => message));
    parsed.forEach((found, index) => {
      const { values = {} } = composed[index] ?? {};
      const givenRecipients = [values.to, values.cc, values.bcc].flatMap((each) => each ?? []);
      const expectedAddresses = givenRecipients.map(
        (each) => /<([^<>]*)>$/.exec(each)?.[1] ?? each,
      );
      expect(found.recipients).toEqual(
        expectedAddresses.map((each, at) => [nameIn(givenRecipients[at] ?? ''), each]),
      );
      const byHeader = ['to', 'cc', 'bcc'].flatMap((name) => found.addresses[name] ?? []);
      expect(byHeader).toEqual(expectedAddresses);
      expect(found.subject).toBe(values.subject ?? null);
      expect(found.defects).toBe(0);
      const types = ['to', 'cc', 'bcc', 'subject', 'mime-version', 'content-type'];
      const others = ['content-transfer-encoding'];
      expect([...types, ...others]).toEqual(
        expect.arrayContaining(found.headers.map((name) => name.toLowerCase())),
      );
      const texts = [
        ...(values.html === undefined || values.text !== undefined ? [values.text ?? ''] : []),
        ...(values.html === undefined ? [] : [values.html]),
      ].map((text) => ({
        filename: null,
        base64: base64Of(text.replaceAll(/\r\n|\r|\n/g, '\r\n')),
      }));
      // Python removes blanks around the name of a file.
      const trimName = (filename: string | null) => filename?.trim() ?? null;
      const files = values.attachments ?? [];
      expect(
        found.parts.map(({ filename, base64 }) => ({ filename: trimName(filename), base64 })),
      ).toEqual([
        ...texts,
        ...files.map(({ filename, base64 }) => ({ filename: trimName(filename), base64 })),
      ]);
    });
  },
);

function base64Of(text: string): string {
  return Buffer.from(text).toString('base64');
}

function nameIn(value: string): string {
  const [, name = ''] = /^(.*)<[^<>]*>$/s.exec(value) ?? [];
  const trimmed = name.trim();
  return (/^"(.*)"$/s.exec(trimmed)?.[1] ?? trimmed).trim();
}
