import { expect, test } from 'vitest';

import { defineConfig, loadConfig } from '#config';
import { readEgressSettings } from './index.ts';

const spec = defineConfig('executor', [
  'HOST',
  'PORT',
  'NATS_URL',
  'DATABASE_URL',
  'EGRESS_ALLOW',
  'EGRESS_PROXY',
  'EGRESS_PROXY_RESOLVES',
]);
const servers = { NATS_URL: 'nats://127.0.0.1', DATABASE_URL: 'postgres://127.0.0.1/x' };
const read = (environment: Record<string, string>) =>
  readEgressSettings(loadConfig(spec, { ...servers, ...environment }));

test('the proxy has the user and the password of its URL, decoded', () => {
  const { proxy } = read({ EGRESS_PROXY: 'https://user:p%40ss@[fd00::1]' });
  expect(proxy).toEqual({
    isSecure: true,
    host: 'fd00::1',
    port: 443,
    authorization: `Basic ${Buffer.from('user:p@ss').toString('base64')}`,
    resolvesNames: false,
  });
  const resolving = { EGRESS_PROXY: 'http://proxy', EGRESS_PROXY_RESOLVES: 'on' };
  expect(read(resolving).proxy).toMatchObject({ authorization: undefined, resolvesNames: true });
  expect(read({}).proxy).toBeUndefined();
});

test.each([
  [{ EGRESS_PROXY: 'socks5://user:CANARY-pass@proxy' }, /^EGRESS_PROXY must be an http/],
  [{ EGRESS_PROXY: 'http://user:CANARY%-pass@proxy' }, /^EGRESS_PROXY has a %/],
  [{ EGRESS_PROXY_RESOLVES: 'on' }, /^EGRESS_PROXY_RESOLVES is on without/],
  [{ EGRESS_ALLOW: 'somewhere' }, /^EGRESS_ALLOW: "somewhere"/],
] as const)('%j is refused, and no password is shown', (environment, expectedMessage) => {
  expect(() => read({ ...environment })).toThrow(
    expect.objectContaining({
      name: 'ConfigError',
      message: expect.stringMatching(expectedMessage),
    }),
  );
  expect(() => read({ ...environment })).not.toThrow(/CANARY/);
});
