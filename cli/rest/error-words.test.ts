import { expect, test } from 'vitest';

import { sayInWordsOf } from './error-words.ts';
import type { WordedRow } from './error-words.ts';

const setSecret: WordedRow = {
  usage: 'secrets set <name>',
  options: [
    ['--host <host>', '', 'repeats'],
    ['--as-is', ''],
  ],
  fields: { allowed_hosts: '--host' },
};
const connect: WordedRow = {
  usage: 'services connect <template>',
  options: [['--base-url <url>', '']],
  fields: {
    'credentials.secrets': '--secret',
    'POST /v1/connections': '--account',
    variables: '--variable',
  },
};
const call: WordedRow = {
  usage: 'call <service> <action>',
  options: [
    ['--param <name=value>', ''],
    ['--max-risk <risk>', ''],
  ],
};

/** The message of an error and its issues, as the command says them. */
function say(row: WordedRow, message: string, { error = 'invalid_request', paths = [''] } = {}) {
  const issues = paths.map((path) => ({ path, message: 'is wrong' }));
  const envelope = { error: error as 'invalid_request', message, request_id: 'r', issues };
  const said = sayInWordsOf(row, envelope);
  return [said.message, (said['issues'] as typeof issues).map(({ path }) => path)];
}

const wrongBody = 'The body is not valid; correct the fields named in issues.';

test.each([
  [
    'Check it, or send as_is: true to store exactly this.',
    'Check it, or add --as-is to store exactly this.',
  ],
  ['allowed_hosts.0 is no host.', '--host is no host.'],
  ['The name is English here, and so is value.', 'The name is English here, and so is value.'],
  ['Use GET /v1/search.', 'Use "action-gateway search".'],
  ['`available` lists those there are.', '"action-gateway services list" lists those there are.'],
  [
    'Ask for another with service_auth (request_service) or POST /v1/requests.',
    'Ask for another with "action-gateway call platform request_service"; people connect one with "action-gateway services connect".',
  ],
  [
    'An agent asks for what it needs with the tool service_auth or POST /v1/requests.',
    'An agent asks for what it needs with "action-gateway call platform request_service".',
  ],
  ['other_field is of no option.', 'other_field is of no option.'],
  ['It may not go to host.example.com, name.com.', 'It may not go to host.example.com, name.com.'],
])('the sentence "%s" of an error is printed as "%s"', (message, said) => {
  expect(say(setSecret, message)).toEqual([said, ['']]);
});

test('the sentence about the next step names commands too', () => {
  const next = {
    method: 'GET',
    path: '/v1/search',
    say: 'Ask for it with POST /v1/requests.',
  } as const;
  const envelope = { error: 'unknown_service', message: '', request_id: 'r', next } as const;
  expect(sayInWordsOf(call, envelope).next).toEqual({
    ...next,
    say: 'Ask for it with "action-gateway call platform request_service".',
  });
});

test('a wrong field is named by its option or argument', () => {
  const paths = ['name', 'as_is', 'allowed_hosts.3', 'unknown'];
  expect(say(setSecret, wrongBody, { paths })).toEqual([
    'Correct the command:',
    ['<name>', '--as-is', '--host', 'unknown'],
  ]);
  expect(say(setSecret, 'name is taken.', { paths: ['name'] })).toEqual([
    '<name> is taken.',
    ['<name>'],
  ]);
});

test('a member of a field follows its option', () => {
  const message =
    'Connect an account (POST /v1/connections), or name one under credentials.secrets.key.';
  expect(say(connect, message, { paths: ['variables.site', 'base_url'] })).toEqual([
    'Connect an account (--account), or name one with --secret key.',
    ['--variable site', '--base-url'],
  ]);
});

test('a parameter of an action is named as a parameter, even if it is called like an option', () => {
  const message = 'Correct the call: max_risk is required (and 1 more).';
  const paths = ['max_risk', 'service'];
  expect(say(call, message, { error: 'invalid_params', paths })).toEqual([
    'Correct the call: --param max_risk is required (and 1 more).',
    ['--param max_risk', '--param service'],
  ]);
  expect(say(call, wrongBody, { paths })).toEqual([
    'Correct the command:',
    ['--max-risk', '<service>'],
  ]);
});
