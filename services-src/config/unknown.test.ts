import { describe, expect, test } from 'vitest';

import { defineConfig, loadConfig } from './load.ts';
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
    ['OAUTH_LISTEN_PORT', 'OAUTH_PORT'],
    ['REFRESH_REUSE_GRACE', 'REFRESH_REUSE_GRACE_SECONDS'],
    ['RATE_PUBLIC_PER_HOUR', 'RATE_PUBLIC_PER_MINUTE'],
    ['REQUESTS_PER_HUOR', 'REQUESTS_PER_HOUR'],
    ['LOG_LEVLE', 'LOG_LEVEL'],
  ])('such as %s, which resembles the setting %s, is refused', ([name]) => {
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
  ])('is ignored when it belongs to another program, such as %s', (name) => {
    expect(load(name)).not.toThrow();
  });
});

test('every setting is accepted under its own name', () => {
  for (const [name, { schema }] of Object.entries(settings)) {
    if (!schema.safeParse(undefined).success) continue;
    expect(load(name)).not.toThrow(/is not a setting/);
  }
});
