import { loadJq } from 'jq-wasm';
import { expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import { compileFile } from './template-files.ts';

const jq = await loadJq();
const charactersMax = 10_240;

const longest = (at: number, length: number) =>
  `${at}`.padEnd(length - '@acme.example'.length, 'x') + '@acme.example';
const texts = (count: number) =>
  Array.from({ length: count }, (_, at) => `${'N'.repeat(60)} <${longest(at, 254)}>`);
const graph = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    emailAddress: { address: longest(at, 254), name: 'N'.repeat(200) },
  }));
const batch = (each: (at: number) => JsonValue) =>
  Array.from({ length: 10 }, (_, mail) => ({
    to: Array.from({ length: 10 }, (_unused, at) => each(mail * 10 + at)),
  }));

/** Each call has the most recipients that are allowed, with the longest addresses and names. */
test.for<[key: string, action: string, body: JsonValue, count: number, length: number]>([
  ['gmail', 'send_message', { to: texts(40) }, 40, 254],
  ['gmail', 'create_draft', { to: texts(40) }, 40, 254],
  ['gmail', 'update_draft', { to: texts(40) }, 40, 254],
  ['outlook_mail', 'create_draft', { toRecipients: graph(40) }, 40, 254],
  ['outlook_mail', 'send_mail', { Message: { toRecipients: graph(40) } }, 40, 254],
  ['outlook_mail', 'forward', { ToRecipients: graph(40) }, 40, 254],
  ['resend', 'send_email', { to: texts(40) }, 40, 254],
  ['resend', 'send_emails', batch((at) => longest(at, 100)), 100, 100],
  [
    'sendgrid',
    'send_email',
    { personalizations: batch((at) => ({ email: longest(at, 100), name: 'N'.repeat(200) })) },
    100,
    100,
  ],
])('the approval card of %s %s shows the address of every recipient', ([key, name, body, count, length]) => {
  const row = compileFile(`${key}.yaml`).actions[name]!.disclose.find(
    ({ label }) => label === 'To',
  )!;
  const shown = jq.raw(JSON.stringify({ body, params: { body } }), row.filter, ['-r']).stdout;
  expect(row.maxChars).toBe(charactersMax);
  expect(shown.trim().length).toBeLessThanOrEqual(charactersMax);
  expect(shown.trim().split('\n')).toEqual([
    `${count} addresses:`,
    ...Array.from({ length: count }, (_, at) => longest(at, length)),
  ]);
});
