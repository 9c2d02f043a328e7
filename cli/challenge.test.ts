import { expect, test } from 'vitest';

import { parseChallenge } from './challenge.ts';

test.each([
  [undefined, {}],
  ['', {}],
  ['Bearer', {}],
  ['Basic realm="scope"', {}],
  ['Bearer scope="a b"', { scope: 'a b' }],
  ['bearer error=invalid_token, scope = "a"', { error: 'invalid_token', scope: 'a' }],
  ['Bearer realm="x, scope=y", error="insufficient_scope"', { error: 'insufficient_scope' }],
  ['Basic realm="x", Bearer scope="a"', { scope: 'a' }],
  [
    'Bearer resource_metadata="https://a.example/.well-known/x?a=b"',
    { resource_metadata: 'https://a.example/.well-known/x?a=b' },
  ],
  [String.raw`Bearer scope="a\"b"`, { scope: 'a"b' }],
])('the WWW-Authenticate header %j is read as the Bearer parameters %j', (header, challenge) => {
  expect(parseChallenge(header)).toEqual(challenge);
});
