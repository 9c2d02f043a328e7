import { describe, expect, test } from 'vitest';

import { defineConfig, listStrayVariables, loadConfig } from './load.ts';
import { settings } from './settings.ts';

const spec = defineConfig('gateway', ['LOG_LEVEL']);
const load =
  (name: string, value = '1') =>
  () =>
    loadConfig(spec, { [name]: value });

describe('an environment variable that is not a setting', () => {
  test.for<[name: string, meant: string]>([
    ['SHARE_ORG_PERCENTAGE', 'SHARE_ORG_PERCENT'],
    ['SHARE_USERS_PERCENT', 'SHARE_USER_PERCENT'],
    ['GATEWAY_STREAMS_LIMIT', 'GATEWAY_STREAMS_MAX'],
    ['CONNECTIONS_PER_IP_MAX', 'CONNECTIONS_PER_ADDRESS_MAX'],
    ['AUDIT_BYTES_PER_HOUR', 'AUDIT_BYTES_PER_MINUTE'],
    ['TRUSTED_PROXY', 'TRUSTED_PROXIES'],
    ['OAUTH_PORTS', 'OAUTH_PORT'],
    ['WEBHOOK_KEYS', 'WEBHOOK_KEY'],
    ['EGRES_PROXY', 'EGRESS_PROXY'],
    ['REFRESH_REUSE_GRACE', 'REFRESH_REUSE_GRACE_SECONDS'],
    ['RATE_PUBLIC_PER_HOUR', 'RATE_PUBLIC_PER_MINUTE'],
    ['REQUESTS_PER_HUOR', 'REQUESTS_PER_HOUR'],
    ['LOG_LEVLE', 'LOG_LEVEL'],
  ])('is refused when it resembles a setting: %s resembles %s', ([name]) => {
    expect(load(name)).toThrow(`${name} is not a setting of the gateway.`);
  });

  test('is reported together with the setting that is probably meant', () => {
    expect(load('SHARE_ORG_PERCENTAGE')).toThrow('Did you mean SHARE_ORG_PERCENT?');
  });

  test.for([
    'PATH',
    'HOSTNAME',
    'LOG_FORMAT',
    'OTEL_RESOURCE_ATTRIBUTES',
    'REQUESTS_CA_BUNDLE',
    'DATABASE_NAME',
    'OTEL_TRACES_SAMPLER',
  ])('is ignored when it belongs to another program, such as %s', (name) => {
    expect(load(name)).not.toThrow();
    expect(listStrayVariables({ [name]: '1' })).toEqual([]);
  });

  test.for([
    'WEBHOOK_URL',
    'WEBHOOK_SECRET',
    'RATE_LIMIT',
    'GATEWAY_URL',
    'MASTER_HOST',
    'SAMPLE_RATE',
    'OAUTH_LISTEN_PORT',
    'TEMPLATES_PATH',
    'SIGN_KEY',
  ])('only causes a warning when it begins like a setting: %s', (name) => {
    expect(load(name)).not.toThrow();
    expect(listStrayVariables({ [name]: '1', WEBHOOK_KEY: 'x' })).toEqual([name]);
  });
});

test.for([
  ['LOG_LEVEL', 'INFO', 'info'],
  ['LOG_LEVEL', 'Warn', 'warn'],
  ['SIGN_IN_LINK', 'Always', 'always'],
  ['SAMPLE_SERVICE', 'OFF', 'off'],
] as const)('%s=%s is read in any letter case', ([name, given, read]) => {
  expect(loadConfig(defineConfig('start', [name]), { [name]: given })[name]).toBe(read);
});

test('every setting is accepted under its own name', () => {
  for (const [name, { schema }] of Object.entries(settings)) {
    if (!schema.safeParse(undefined).success) continue;
    expect(load(name)).not.toThrow(/is not a setting/);
  }
});
