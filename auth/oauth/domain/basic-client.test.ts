import { expect, test } from 'vitest';

import { readBasicClient } from './basic-client.ts';

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

test.for([
  [basic('some-client:'), 'some-client'],
  [basic('some-client:').replace('Basic', 'basic '), 'some-client'],
  [basic('a%3Ab%2Fc:'), 'a:b/c'],
  [basic('https%3A%2F%2Fapp.example%2Fclient.json:'), 'https://app.example/client.json'],
  [basic('https://app.example/client.json:'), 'https://app.example/client.json'],
] as const)('%s identifies the client %s', ([header, clientId]) => {
  expect(readBasicClient(header)).toEqual({ clientId });
});

test.for([
  [basic('some-client:CANARY-secret'), /no secret/],
  [basic('some-client::'), /no secret/],
  [basic('some-client'), /malformed/],
  [basic(':'), /malformed/],
  [basic('%zz:'), /malformed/],
  [basic('a\u0000b:'), /malformed/],
  ['Basic', /malformed/],
  ['Basic ', /malformed/],
  ['Basic !!!', /malformed/],
] as const)('%s identifies no client, and the problem says what to send', ([header, sentence]) => {
  expect(readBasicClient(header)).toMatchObject({ problem: expect.stringMatching(sentence) });
  expect(JSON.stringify(readBasicClient(header))).not.toContain('CANARY');
});

test.for([undefined, '', 'Bearer abc', 'Basically abc'])(
  '%s is a header of another kind',
  (header) => {
    expect(readBasicClient(header)).toBeUndefined();
  },
);
