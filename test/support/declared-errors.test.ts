import { expect, test } from 'vitest';

import { checkDeclared } from './declared-errors.ts';

const url = 'http://127.0.0.1:1/v1/identities/018f0000-0000-7000-8000-000000000000?x=1';

test.for<[method: string, url: string, body: unknown]>([
  ['GET', url, { error: 'not_found' }],
  ['HEAD', url, { error: 'insufficient_scope' }],
  ['PATCH', url, { error: 'conflict' }],
  ['GET', url, { id: '1' }],
  ['GET', url, ''],
  ['POST', 'http://127.0.0.1:1/oauth/token', { error: 'invalid_grant' }],
])(
  'the check for undeclared error codes accepts %s %s with the answer %j',
  ([method, to, body]) => {
    expect(() => checkDeclared({ method, url: to }, body)).not.toThrow();
  },
);

test.for<[method: string, url: string, error: string]>([
  ['GET', url, 'conflict'],
  ['GET', 'http://127.0.0.1:1/v1/identities/me', 'not_found'],
  ['POST', 'http://127.0.0.1:1/v1/sign-in', 'insufficient_scope'],
])(
  'the check for undeclared error codes refuses %s %s with the undeclared error code %s',
  ([method, to, error]) => {
    expect(() => checkDeclared({ method, url: to }, { error })).toThrow(error);
  },
);
