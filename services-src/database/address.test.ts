import { describe, expect, test } from 'vitest';

import { ConfigError } from '../config/index.ts';
import { databaseUrlOf, parseDatabaseUrl } from './address.ts';

const ca = '/etc/ssl/servers.pem';

describe('SERVERS_CA_FILE', () => {
  test.for([
    ['postgres://db/gateway', 'verify-full', ca],
    ['postgres://db/gateway?sslmode=require', 'require', ca],
    ['postgres://127.0.0.1/gateway?sslmode=verify-full', 'verify-full', ca],
    ['postgres://db/gateway?sslrootcert=system', 'verify-full', 'system'],
    ['postgres://db/gateway?sslmode=disable', 'disable', null],
    ['postgres://localhost/gateway', null, null],
    ['postgres://127.0.0.1/gateway', null, null],
    ['postgres://[::1]/gateway', null, null],
    ['postgres://localhost/gateway?host=%2Frun%2Fpostgres', null, null],
  ] as const)(
    'gives the URL %s the sslmode %s and the authority file %s',
    ([given, mode, file]) => {
      const url = new URL(databaseUrlOf({ DATABASE_URL: given, SERVERS_CA_FILE: ca }));

      expect([url.searchParams.get('sslmode'), url.searchParams.get('sslrootcert')]).toEqual([
        mode,
        file,
      ]);
    },
  );

  test('changes nothing when it is not set', () => {
    expect(databaseUrlOf({ DATABASE_URL: 'postgres://db/gateway' })).toBe('postgres://db/gateway');
  });
});

test('the URL of Postgres decides whether TLS is used', () => {
  expect(parseDatabaseUrl('postgres://db/gateway').ssl).toBe(false);
  expect(parseDatabaseUrl('postgres://db/gateway?sslmode=disable').ssl).toBe(false);
  expect(parseDatabaseUrl('postgres://db/gateway?sslmode=require')).toEqual({
    url: 'postgres://db/gateway',
    ssl: {},
  });
});

test('a certificate authority is refused when its file cannot be read', () => {
  expect(() => parseDatabaseUrl('postgres://db/x?sslmode=require&sslrootcert=/none.pem')).toThrow(
    new ConfigError('The sslrootcert of DATABASE_URL names a file that cannot be read: /none.pem'),
  );
});
