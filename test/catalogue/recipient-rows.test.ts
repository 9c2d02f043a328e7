import { loadJq } from 'jq-wasm';
import { expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import { compileFile } from './template-files.ts';

const jq = await loadJq();
const charactersMax = 10_240;

const longAddress = (at: number, length: number) =>
  `${at}`.padEnd(length - '@acme.example'.length, 'x') + '@acme.example';
const textRecipients = (count: number) =>
  Array.from({ length: count }, (_, at) => `${'N'.repeat(60)} <${longAddress(at, 254)}>`);
const graphRecipients = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    emailAddress: { address: longAddress(at, 254), name: 'N'.repeat(200) },
  }));
const mailsWithRecipients = (each: (at: number) => JsonValue) =>
  Array.from({ length: 10 }, (_, mail) => ({
    to: Array.from({ length: 10 }, (_unused, at) => each(mail * 10 + at)),
  }));

/** Each call has the most recipients that are allowed, with the longest addresses and names. */
test.for<[key: string, action: string, body: JsonValue, count: number, length: number]>([
  ['gmail', 'send_message', { to: textRecipients(40) }, 40, 254],
  ['gmail', 'create_draft', { to: textRecipients(40) }, 40, 254],
  ['gmail', 'update_draft', { to: textRecipients(40) }, 40, 254],
  ['outlook_mail', 'create_draft', { toRecipients: graphRecipients(40) }, 40, 254],
  ['outlook_mail', 'send_mail', { Message: { toRecipients: graphRecipients(40) } }, 40, 254],
  ['outlook_mail', 'forward', { ToRecipients: graphRecipients(40) }, 40, 254],
  ['resend', 'send_email', { to: textRecipients(40) }, 40, 254],
  ['resend', 'send_emails', mailsWithRecipients((at) => longAddress(at, 100)), 100, 100],
  [
    'sendgrid',
    'send_email',
    {
      personalizations: mailsWithRecipients((at) => ({
        email: longAddress(at, 100),
        name: 'N'.repeat(200),
      })),
    },
    100,
    100,
  ],
])(
  'the approval card of %s %s shows the address of every recipient',
  ([key, name, body, count, length]) => {
    const row = compileFile(`${key}.yaml`).actions[name]!.disclose.find(
      ({ label }) => label === 'To',
    )!;
    const shown = jq.raw(JSON.stringify({ body, params: { body } }), row.filter, ['-r']).stdout;
    expect(row.maxChars).toBe(charactersMax);
    expect(shown.trim().length).toBeLessThanOrEqual(charactersMax);
    expect(shown.trim().split('\n')).toEqual([
      `${count} addresses:`,
      ...Array.from({ length: count }, (_, at) => longAddress(at, length)),
    ]);
  },
);
