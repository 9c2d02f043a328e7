import { expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import { compilePattern } from '#permission-key';
import { keysOfCall } from '../../policy/calls/domain/scope-values.ts';
import { deniesKey } from '../../policy/denials/domain/deny-patterns.ts';
import { compileFile } from './template-files.ts';

type Params = Record<string, JsonValue>;

const graph = (address: string) => [{ emailAddress: { address } }];
const content = { subject: 'Hi', body: { contentType: 'text', content: 'Hello' } };

/** Returns the params of a mail to one person, with a blind copy to another person. */
const mails: readonly [key: string, action: string, mail: (to: string, bcc?: string) => Params][] =
  [
    ...['send_message', 'create_draft'].map((action): (typeof mails)[number] => [
      'gmail',
      action,
      (to, bcc) => ({ to: [to], subject: 'Hi', text: 'Hello', ...(bcc && { bcc: [bcc] }) }),
    ]),
    [
      'gmail',
      'update_draft',
      (to, bcc) => ({
        draft_id: 'r-4563728190',
        to: [to],
        subject: 'Hi',
        text: 'Hello',
        ...(bcc && { bcc: [bcc] }),
      }),
    ],
    [
      'outlook_mail',
      'send_mail',
      (to, bcc) => ({
        Message: { ...content, toRecipients: graph(to), ...(bcc && { bccRecipients: graph(bcc) }) },
      }),
    ],
    [
      'outlook_mail',
      'create_draft',
      (to, bcc) => ({
        ...content,
        toRecipients: graph(to),
        ...(bcc && { bccRecipients: graph(bcc) }),
      }),
    ],
    [
      'outlook_mail',
      'forward',
      (to, bcc) => ({
        message_id: 'AAkALgAAAAAAHYQDEapmEc2byACqAC-EWg0A',
        ToRecipients: [...graph(to), ...(bcc ? graph(bcc) : [])],
      }),
    ],
    [
      'resend',
      'send_email',
      (to, bcc) => ({
        from: 'us@acme.example',
        to: [to],
        subject: 'Hi',
        text: 'Hello',
        ...(bcc && { bcc: [bcc] }),
      }),
    ],
    [
      'resend',
      'send_emails',
      (to, bcc) => ({
        body: [to, to].map((each) => ({
          from: 'us@acme.example',
          to: [each],
          subject: 'Hi',
          ...(bcc && { bcc: [bcc] }),
        })),
      }),
    ],
    [
      'sendgrid',
      'send_email',
      (to, bcc) => ({
        from: { email: 'us@acme.example' },
        subject: 'Hi',
        content: [{ type: 'text/plain', value: 'Hello' }],
        personalizations: [
          { to: [{ email: to }] },
          { to: [{ email: to }], ...(bcc && { bcc: [{ email: bcc }] }) },
        ],
      }),
    ],
  ];

const ann = 'Ann@acme.example';
const eve = 'eve@evil.example';

test.for(mails)('%s %s has a permission key for each recipient', ([key, name, mail]) => {
  const action = compileFile(`${key}.yaml`).actions[name]!;
  const keysOf = (params: Params) => keysOfCall(key, action, params).map((each) => each.key);
  expect(keysOf(mail(ann))).toEqual([`${key}:${name}:ann@acme.example`]);
  expect(keysOf(mail(ann, eve)).toSorted()).toEqual([
    `${key}:${name}:ann@acme.example`,
    `${key}:${name}:eve@evil.example`,
  ]);
  for (const params of [mail(`${ann}, ${eve}`), mail(ann, `${eve} <${ann}>`)]) {
    expect(() => keysOf(params)).toThrow(expect.objectContaining({ code: 'invalid_params' }));
  }
});

test.for(mails)(
  'a deny rule for a mail domain denies %s %s to this domain and to no other',
  ([key, name, mail]) => {
    const action = compileFile(`${key}.yaml`).actions[name]!;
    const deny = compilePattern(`${key}:${name}:*@evil.example`, false);
    const isDenied = (params: Params) =>
      keysOfCall(key, action, params).some((each) => deniesKey(deny, each));
    expect(isDenied(mail(eve))).toBe(true);
    expect(isDenied(mail(ann, eve))).toBe(true);
    expect(isDenied(mail(ann))).toBe(false);
  },
);

test.for([
  ['gmail', { id: 'r-4563728190' }],
  ['outlook_mail', { message_id: 'AAkALgAAAAAAHYQDEapmEc2byACqAC-EWg0A' }],
] as const)(
  'the permission key for sending a draft with %s has no argument, because the draft may change before it is sent',
  ([key, params]) => {
    const action = compileFile(`${key}.yaml`).actions['send_draft']!;
    expect(keysOfCall(key, action, params)).toEqual([
      { service: key, action: 'send_draft', arg: '*', key: `${key}:send_draft:*` },
    ]);
  },
);

test('the Outlook action for changing a message cannot change its recipients', () => {
  const names = compileFile('outlook_mail.yaml').actions['update_message']!.params.map(
    ({ wireName }) => wireName,
  );
  expect(names.filter((name) => name.endsWith('Recipients'))).toEqual([]);
});
