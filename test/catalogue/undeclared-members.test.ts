import { expect, test } from 'vitest';

import type { HttpMethod, JsonValue } from '#contracts/vocabulary';
import { compilePattern } from '#permission-key';
import { neighbourNames } from '../../policy/denials/domain/deny-names.ts';
import { couldDeny } from '../../policy/denials/domain/deny-patterns.ts';
import { compileParamCheck } from '../../policy/denials/domain/param-check.ts';
import { compileFile } from './template-files.ts';

interface Request {
  readonly method?: HttpMethod;
  readonly path: string;
  readonly body: JsonValue;
}

/** Whether a deny rule stops a call by method and path. */
function isDenied(rule: string, { method = 'POST', path, body }: Request): boolean {
  const template = compileFile(`${rule.split(':', 1)[0]}.yaml`);
  const prefix = new URL(template.server?.url ?? '').pathname.replace(/\/$/, '');
  const fits: Parameters<typeof neighbourNames>[0][number]['fits'] = (param, value) =>
    compileParamCheck(param.schema)(value);
  const names = neighbourNames(
    [{ names: [template.key], prefix, template, fits }],
    { method, path: prefix + path, query: {}, body },
    { risk: 'write' },
  );
  return names.some((name) => couldDeny(compilePattern(rule, false), name));
}

const graph = (address: string) => [{ emailAddress: { address } }];
const bug = { project: { key: 'OPS' }, issuetype: { name: 'Bug' }, summary: 'x' };
const mail = { from: { email: 'us@acme.example' }, subject: 'Hi' };
const [page, otherPage] = [1, 2].map((digit) =>
  '11111111-1111-1111-1111-11111111111x'.replace('x', String(digit)),
);
const issues = '/rest/api/2/issue';
const account = `/2010-04-01/Accounts/AC${'0'.repeat(32)}`;
const [calls, texts] = [`${account}/Calls.json`, `${account}/Messages.json`] as const;
const call = { To: '+4915112345678', From: '+15005550006' };
const say = '<Response><Say>Hello</Say></Response>';
const dial = '<Response><Dial>+19001234567</Dial></Response>';
const message = `/me/messages/${'A'.repeat(40)}`;

test.for<[rule: string, path: string, body: JsonValue]>([
  ['jira:create_issue:SEC/*', issues, { fields: { ...bug, project: { key: 'OPS', id: '10002' } } }],
  ['jira:create_issue:*/Epic', issues, { fields: { ...bug, issuetype: { name: 'Bug', id: '1' } } }],
  [
    'jira:create_issue:SEC/*',
    issues,
    { fields: bug, update: { project: [{ set: { key: 'SEC' } }] } },
  ],
  [
    'outlook_mail:forward:*@evil.example',
    `${message}/forward`,
    { ToRecipients: graph('bob@acme.example'), Message: { ccRecipients: graph('x@evil.example') } },
  ],
  [
    'sendgrid:send_email:*@evil.example',
    '/v3/mail/send',
    {
      ...mail,
      personalizations: [{ to: [{ email: 'bob@acme.example' }] }],
      mail_settings: { bcc: { enable: true, email: 'x@evil.example' } },
    },
  ],
  [
    `notion:create_page:${otherPage}`,
    '/v1/pages',
    { parent: { page_id: page!, database_id: otherPage! }, properties: {} },
  ],
  [
    'datadog:create_downtime:123',
    '/api/v2/downtime',
    {
      data: {
        type: 'downtime',
        attributes: { scope: '*', monitor_identifier: { monitor_id: 5, monitor_tags: ['*'] } },
      },
    },
  ],
])(
  'a deny for %s stops a call by path with a member that may say it otherwise',
  ([rule, path, body]) => {
    expect(isDenied(rule, { path, body })).toBe(true);
  },
);

test.for<[rule: string, path: string, body: JsonValue]>([
  ['jira:create_issue:SEC/*', issues, { fields: bug }],
  [
    'outlook_mail:forward:*@evil.example',
    `${message}/forward`,
    { ToRecipients: graph('bob@acme.example'), Comment: 'Hi' },
  ],
  [
    'sendgrid:send_email:*@evil.example',
    '/v3/mail/send',
    { ...mail, personalizations: [{ to: [{ email: 'bob@acme.example' }] }] },
  ],
  [`notion:create_page:${otherPage}`, '/v1/pages', { parent: { page_id: page! }, properties: {} }],
  ['twilio:make_call:+1900*', calls, { ...call, Twiml: say }],
  ['twilio:send_message:+1900*', texts, { ...call, Body: 'Hi' }],
])('a deny for %s lets a call by path pass that names something else', ([rule, path, body]) => {
  expect(isDenied(rule, { path, body })).toBe(false);
});

const script = compileFile('twilio.yaml').actions['make_call']!.params.find(
  ({ name }) => name === 'Twiml',
)!;

test.for([
  say,
  '<Response>\n<Say voice="alice" language="en-US">1 &lt; 2</Say><Pause length="2"/><Hangup /></Response>',
  'x'.repeat(4000),
])('a call at Twilio may say %s', (text) => {
  expect(compileParamCheck(script.schema)(text)).toBe(true);
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
])('a call at Twilio may not do %s', (text) => {
  expect(compileParamCheck(script.schema)(text)).toBe(false);
});
