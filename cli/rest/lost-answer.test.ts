import { expect, test } from 'vitest';

import { isNotSent } from './lost-answer.ts';

const errorOf = (members: object) => Object.assign(new Error('no'), members);
const refused = errorOf({ code: 'ECONNREFUSED', syscall: 'connect' });

test.each([
  ['a refused connection', refused, true],
  ['a refused connection to each address', new AggregateError([refused, refused]), true],
  ['an unknown host', errorOf({ code: 'ENOTFOUND', syscall: 'getaddrinfo' }), true],
  ['a connection that takes too long', errorOf({ code: 'UND_ERR_CONNECT_TIMEOUT' }), true],
  ['an expired certificate', errorOf({ code: 'CERT_HAS_EXPIRED' }), true],
  ['an unknown authority', errorOf({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }), true],
  ['a connection that is reset', errorOf({ code: 'ECONNRESET', syscall: 'read' }), false],
  ['a connection that ends', errorOf({ code: 'UND_ERR_SOCKET' }), false],
  ['no errors of addresses', new AggregateError([]), false],
])('%s tells whether the request was sent', (_name, cause, expected) => {
  expect(isNotSent(new TypeError('fetch failed', { cause }))).toBe(expected);
});

test('a request that takes too long may have been sent', () => {
  expect(isNotSent(new DOMException('timeout', 'TimeoutError'))).toBe(false);
});
