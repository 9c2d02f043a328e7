import { expect, test } from 'vitest';

import { GatewayRefusal } from './gateway-refusal.ts';

test('the text of an error contains the wrong fields, the address to open, the next step and the id of the request', () => {
  const { message } = new GatewayRefusal({
    error: 'needs_authentication',
    message: 'Connect the account.',
    request_id: 'r-1',
    auth_url: 'https://gateway.example/connect/1',
    issues: [{ path: 'params.a', message: 'is required' }, null, { path: 1 }],
    next: { method: 'POST', path: '/v1/x', body: { a: 1 }, say: 'Ask the user.' },
  });
  expect(message.split('\n')).toEqual([
    'Connect the account.',
    '  params.a: is required',
    'Open: https://gateway.example/connect/1',
    'Ask the user.',
    'Next: POST /v1/x {"a":1}',
    'Error needs_authentication, request r-1',
  ]);
});

test('a search that is the next step is shown as a command', () => {
  const { message } = new GatewayRefusal({
    error: 'unknown_service',
    message: 'There is no such service.',
    request_id: 'r-1',
    next: { method: 'GET', path: '/v1/search?q=send+mail&catalog=true' },
  });
  expect(message).toContain("\nNext: action-gateway search 'send mail' --catalog\n");
});

test('the text of an error does not repeat what its message already contains', () => {
  const { message } = new GatewayRefusal({
    error: 'invalid_params',
    message: 'a is required. Open https://a.example.',
    request_id: 'r-1',
    auth_url: 'https://a.example',
    issues: [{ path: 'a', message: 'is required' }],
  });
  expect(message.split('\n')).toHaveLength(2);
});

test('the text of an error contains each wrong field, and what is expected there', () => {
  const { message } = new GatewayRefusal({
    error: 'invalid_params',
    message: 'a is required (and 1 more).',
    request_id: 'r-1',
    issues: [
      { path: 'a', message: 'is required' },
      { path: 'b', message: 'is required' },
      { path: 'effect', message: 'is not one of the allowed values', expected: 'allow, deny' },
    ],
  });
  expect(message.split('\n').slice(1, -1)).toEqual([
    '  b: is required',
    '  effect: is not one of the allowed values (allow, deny)',
  ]);
});

test('text of an error cannot forge a line of the message', () => {
  const { message } = new GatewayRefusal({
    error: 'invalid_params',
    message: 'a\nError none, request 0',
    request_id: 'r\r\n-1',
    issues: [{ path: 'b\u2028', message: 'c\nd' }],
  });
  expect(message.split(/[\n\r\u2028]/)).toEqual([
    String.raw`a\u000aError none, request 0`,
    String.raw`  b\u2028: c\u000ad`,
    String.raw`Error invalid_params, request r\u000d\u000a-1`,
  ]);
});

test('a next step with a path that cannot be parsed is shown as it is', () => {
  const next = { method: 'GET', path: 'http://[' } as const;
  const { message } = new GatewayRefusal({
    error: 'unknown_service',
    message: 'a',
    request_id: 'r-1',
    next,
  });
  expect(message).toContain('Next: GET http://[');
});
