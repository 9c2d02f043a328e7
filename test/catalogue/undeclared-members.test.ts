import { expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import { compileValidator } from '../support/check-params.ts';
import { compileFile } from './template-files.ts';

type Params = Record<string, JsonValue>;

/** Whether the parameters are valid for the action. */
function accepts(name: string, params: Params): boolean {
  const [key = '', action = ''] = name.split(':');
  const { paramsSchema } = compileFile(`${key}.yaml`).actions[action]!;
  return compileValidator(paramsSchema)(params).length === 0;
}

const graph = (address: string) => [{ emailAddress: { address } }];
const bug = { project: { key: 'OPS' }, issuetype: { name: 'Bug' }, summary: 'x' };
const mail = { from: { email: 'us@acme.example' }, subject: 'Hi' };
const [page, otherPage] = [1, 2].map((digit) =>
  '11111111-1111-1111-1111-11111111111x'.replace('x', String(digit)),
);
const call = { AccountSid: `AC${'0'.repeat(32)}`, To: '+4915112345678', From: '+15005550006' };
const say = '<Response><Say>Hello</Say></Response>';
const dial = '<Response><Dial>+19001234567</Dial></Response>';
const message_id = 'A'.repeat(40);

test.for<[action: string, params: Params]>([
  ['jira:create_issue', { fields: { ...bug, project: { key: 'OPS', id: '10002' } } }],
  ['jira:create_issue', { fields: { ...bug, issuetype: { name: 'Bug', id: '1' } } }],
  ['jira:create_issue', { fields: bug, update: { project: [{ set: { key: 'SEC' } }] } }],
  [
    'outlook_mail:forward',
    {
      message_id,
      ToRecipients: graph('bob@acme.example'),
      Message: { ccRecipients: graph('x@evil.example') },
    },
  ],
  [
    'sendgrid:send_email',
    {
      ...mail,
      personalizations: [{ to: [{ email: 'bob@acme.example' }] }],
      mail_settings: { bcc: { enable: true, email: 'x@evil.example' } },
    },
  ],
  ['notion:create_page', { parent: { page_id: page!, database_id: otherPage! }, properties: {} }],
  [
    'datadog:create_downtime',
    {
      data: {
        type: 'downtime',
        attributes: { scope: '*', monitor_identifier: { monitor_id: 5, monitor_tags: ['*'] } },
      },
    },
  ],
])(
  '%s accepts no member that could contradict the argument of its permission key: %j',
  ([action, params]) => {
    expect(accepts(action, params)).toBe(false);
  },
);

test.for<[action: string, params: Params]>([
  ['jira:create_issue', { fields: bug }],
  ['outlook_mail:forward', { message_id, ToRecipients: graph('bob@acme.example'), Comment: 'Hi' }],
  [
    'sendgrid:send_email',
    {
      ...mail,
      content: [{ type: 'text/plain', value: 'Hi' }],
      personalizations: [{ to: [{ email: 'bob@acme.example' }] }],
    },
  ],
  ['notion:create_page', { parent: { page_id: page! }, properties: {} }],
  ['twilio:make_call', { ...call, Twiml: say }],
  ['twilio:send_message', { ...call, Body: 'Hi' }],
])('%s accepts a call without such a member: %j', ([action, params]) => {
  expect(accepts(action, params)).toBe(true);
});

test.for([
  say,
  '<Response>\n<Say voice="alice" language="en-US">1 &lt; 2</Say><Pause length="2"/><Hangup /></Response>',
  'x'.repeat(4000),
])('a call with Twilio may have the instructions %s', (text) => {
  expect(accepts('twilio:make_call', { ...call, Twiml: text })).toBe(true);
});

test.for([
  dial,
  '<Response><Sms to="+19001234567">x</Sms></Response>',
  '<Response><Redirect>https://evil.example</Redirect></Response>',
  '<Response><Gather action="https://evil.example"><Say>x</Say></Gather></Response>',
  '<Response><Play>https://evil.example</Play></Response>',
  '<Response><Sayx/></Response>',
  '<Response>< Dial>+19001234567</Dial></Response>',
  '<?xml version="1.0"?><Response/>',
  '<!DOCTYPE Response [<!ENTITY a "x">]><Response/>',
  '<Response><Say><![CDATA[x]]></Say></Response>',
  '<Response><x:Dial>+19001234567</x:Dial></Response>',
])('a call with Twilio may not have the instructions %s', (text) => {
  expect(accepts('twilio:make_call', { ...call, Twiml: text })).toBe(false);
});
