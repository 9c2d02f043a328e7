import { expect, test } from 'vitest';

import { findNatsUrlProblem } from './nats-url.ts';

test.for([
  'nats://nats:4222',
  'nats://auth:pass%23%25%2Fword@nats:4222?tls=off',
  'nats://auth:p@ssword@nats',
  'tls://auth:password@a:4222, nats://auth:password@b:4222,c,[2001:db8::1]:4222',
  'nats://auth:password@a:4222,auth:1#2@b/',
])('%s can be used', (url) => {
  expect(findNatsUrlProblem(url)).toBeUndefined();
});

test.for([
  ['http://nats:4222', 'must be a nats:// or tls:// URL'],
  ['nats://nats:port', 'must be a nats:// or tls:// URL'],
  ['nats://auth:password@a,b:port', 'must be a nats:// or tls:// URL'],
  ['nats://auth:password@a,', 'must be a nats:// or tls:// URL'],
  ['nats://auth:pass,word@nats', 'a comma %2C'],
  ['nats://auth:pass#word@nats', '# is %23'],
  ['nats://auth:1#word@nats', '# is %23'],
  ['nats://auth:pass%word@nats', '% is %25'],
  ['nats://auth:pass/word@nats', '/ is %2F'],
] as const)('%s is refused: %s', ([url, problem]) => {
  expect(findNatsUrlProblem(url)).toContain(problem);
});
