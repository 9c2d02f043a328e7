import { expect, test } from 'vitest';

import { findDatabaseUrlProblem } from './database-url.ts';

test.for([
  'postgres://owner:password@db/gateway',
  'postgresql://owner:a%2Cb@db:5432/gateway?sslmode=verify-full&sslrootcert=/etc/ssl/ca.pem',
  'postgres://owner:password@localhost/gateway?host=%2Frun%2Fpostgres',
  'postgres://owner:password@[::1]:5432/gateway?sslmode=disable&application_name=x&options=-c%20jit%3Doff',
])('%s can be used', (url) => {
  expect(findDatabaseUrlProblem(url)).toBeUndefined();
});

test.for([
  ['mysql://db/gateway', 'must be a postgres:// URL'],
  ['postgres://owner:password@db:port/gateway', 'must be a postgres:// URL'],
  ['postgres://owner:pass#word@db/gateway', '# is %23'],
  ['postgres://owner:1#word@db/gateway', '# is %23'],
  ['postgres://owner:pass%word@db/gateway', '% is %25'],
  ['postgres://owner:pass/word@db/gateway', '/ is %2F'],
  ['postgres://owner:password@a:5432,b:5432/gateway', 'names several hosts'],
  ['postgres://a,b/gateway?target_session_attrs=read-write', 'names several hosts'],
  ['postgres://db/gateway?target_session_attrs=primary', 'the parameter target_session_attrs,'],
  ['postgres://db/gateway?sslmode=verify-full&sslcert=/client.pem', 'the parameter sslcert,'],
  ['postgres://db/gateway?statement_timeout=0', 'the parameter statement_timeout,'],
  ['postgres://db/gateway?sslmode=prefer', 'one of disable, require, verify-ca, verify-full'],
  ['postgres://db/gateway?sslmode=', 'a sslmode that is not one of'],
] as const)('%s is refused: %s', ([url, problem]) => {
  expect(findDatabaseUrlProblem(url)).toContain(problem);
});
