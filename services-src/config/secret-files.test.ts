import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { defineConfig, loadConfig } from './load.ts';

const config = defineConfig('auth', ['SIGN_IN_KEY', 'EGRESS_PROXY', 'DATABASE_URL']);
const path = join(tmpdir(), `secret-file-${process.pid}`);
afterAll(() => rm(path));
const key = 'CANARY-'.padEnd(43, 'k');

test('a secret is read from the file that the variable names, without the line end', async () => {
  await writeFile(path, 'postgres://auth:CANARY-password@db/gateway\n');
  const given = { SIGN_IN_KEY: key, AUTH_DATABASE_URL_FILE: path };

  expect(loadConfig(config, given).DATABASE_URL).toBe('postgres://auth:CANARY-password@db/gateway');
});

test('an empty file counts as no value, and prevents the start of a component that needs the setting', async () => {
  await writeFile(path, '\n');
  const given = { SIGN_IN_KEY: key, DATABASE_URL: 'postgres://db' };

  expect(loadConfig(config, { ...given, EGRESS_PROXY_FILE: path }).EGRESS_PROXY).toBeUndefined();
  expect(() =>
    loadConfig(config, { DATABASE_URL: 'postgres://db', SIGN_IN_KEY_FILE: path }),
  ).toThrow(/SIGN_IN_KEY is not set/);
});
