import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { defineConfig, loadConfig } from './load.ts';

const spec = defineConfig('executor', ['OAUTH_APPS']);
const load = (environment: Record<string, string>) => loadConfig(spec, environment).OAUTH_APPS;

describe('the client credentials of apps at OAuth providers', () => {
  test("are read from the environment and from files, by the provider in the variable's name", () => {
    const file = join(mkdtempSync(join(tmpdir(), 'aag-config-')), 'secret');
    writeFileSync(file, 'CANARY-from-file\n');
    const apps = load({
      OAUTH_GITHUB_CLIENT_ID: 'ours',
      OAUTH_GITHUB_CLIENT_SECRET: 'CANARY-github',
      OAUTH_STRIPE_CONNECT_CLIENT_ID: 'theirs',
      OAUTH_STRIPE_CONNECT_CLIENT_SECRET_FILE: file,
      OAUTH_LINEAR_CLIENT_ID: 'public',
      OAUTH_HOST: '127.0.0.1',
    });
    expect([...apps.keys()]).toEqual(['github', 'stripe-connect', 'linear']);
    expect(apps.get('github')?.clientId).toBe('ours');
    expect(apps.get('github')?.clientSecret?.reveal()).toBe('CANARY-github');
    expect(apps.get('stripe-connect')?.clientSecret?.reveal()).toBe('CANARY-from-file');
    expect(apps.get('linear')?.clientSecret).toBeNull();
    expect(JSON.stringify([...apps])).not.toContain('CANARY');
    expect(load({}).size).toBe(0);
  });

  test.for([
    [
      'a secret without an id',
      { OAUTH_GITHUB_CLIENT_SECRET: 'CANARY-x' },
      /OAUTH_GITHUB_CLIENT_ID/,
    ],
    [
      'a blank that was pasted with a secret',
      { OAUTH_GITHUB_CLIENT_ID: 'ours', OAUTH_GITHUB_CLIENT_SECRET: 'CANARY-x\u200b' },
      /has OAUTH_GITHUB_CLIENT_SECRET, which must be printable ASCII/,
    ],
    [
      'a blank that was pasted with an id',
      { OAUTH_GITHUB_CLIENT_ID: ' CANARY-ours' },
      /must not begin or end with a blank/,
    ],
    [
      'a file that does not exist',
      { OAUTH_GITHUB_CLIENT_SECRET_FILE: '/nowhere' },
      /cannot be read/,
    ],
    ['a name with a typing error', { OAUTH_GITHUB_CLIENT_KEY: 'x' }, /not a setting/],
  ] as const)(
    'stop the start without being shown when they have %s',
    ([, environment, message]) => {
      const start = () => load({ ...environment });
      expect(start).toThrow(message);
      expect(start).not.toThrow(/CANARY/);
    },
  );
});
