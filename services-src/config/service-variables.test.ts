import { describe, expect, test } from 'vitest';

import { components } from '../contracts/vocabulary.ts';
import { keyNames } from './keys.ts';
import { defineConfig, listStrayVariables, loadConfig } from './load.ts';
import { isServiceVariable } from './service-variables.ts';
import { variablesOf } from './service-variables.testing.ts';
import type { ServicePort } from './service-variables.testing.ts';
import { settings } from './settings.ts';
import type { Setting, SettingName } from './settings.ts';

const addresses = ['10.96.0.12', 'fd00:10:96::c'];
const ports: readonly ServicePort[] = [
  { port: 8080, protocol: 'TCP', name: 'http' },
  { port: 4222, protocol: 'UDP', name: 'client-id' },
  { port: 9, protocol: 'SCTP', name: 'url' },
];
const otherServices =
  'nats postgres database health oauth oauth-github rate-limiter webhook-x egress-proxy ' +
  'trusted-proxies kubernetes otel agent-action-gateway gateway-service x 4ever';
const serviceNames = [...components, ...otherServices.split(' ')];

const allSettingsSpec = defineConfig('gateway', Object.keys(settings) as SettingName[]);
/** The settings that have no default. */
const requiredSettings = {
  DATABASE_URL: 'postgres://owner:CANARY-owner@db/gateway',
  NATS_URL: 'nats://nats:4222',
  DECISION_PUBLIC_KEY: 'x'.repeat(43),
  ...Object.fromEntries(keyNames.map((name) => [name, 'x'.repeat(43)])),
};

describe('the variables that Kubernetes sets for a Service', () => {
  test.for(serviceNames.flatMap((name) => addresses.map((address) => [name, address] as const)))(
    'change no setting when the Service is %s and its address is %s',
    ([name, address]) => {
      const config = loadConfig(allSettingsSpec, {
        ...requiredSettings,
        ...variablesOf(name, address, ports),
      });

      expect(config).toEqual(loadConfig(allSettingsSpec, requiredSettings));
    },
  );

  test.for<[service: string, setting: string]>([
    ['health', 'HEALTH_PORT'],
    ['oauth', 'OAUTH_PORT'],
  ])('of the Service %s do not prevent the pod from setting %s', ([service, setting]) => {
    // The kubelet does not change a variable that the pod itself sets.
    const givenEnvironment = {
      ...requiredSettings,
      ...variablesOf(service, '10.96.0.12', ports),
      [setting]: '9999',
    };

    expect(loadConfig(allSettingsSpec, givenEnvironment)).toMatchObject({ [setting]: 9999 });
  });
});

test('only HEALTH_PORT, OAUTH_PORT and the client ids of provider apps have names that Kubernetes may also give to a variable of a Service', () => {
  const spellings = Object.entries<Setting>(settings).flatMap(([name, setting]) => [
    name,
    ...(setting.secret ? [`${name}_FILE`] : []),
    ...(setting.perComponent ? components.map((each) => `${each.toUpperCase()}_${name}`) : []),
  ]);
  const values = ['10.0.0.1', '80', 'tcp://10.0.0.1:80', 'tcp'];
  const canBeServiceVariable = (name: string) =>
    values.some((value) => isServiceVariable(name, value));

  expect(spellings.filter(canBeServiceVariable)).toEqual(['OAUTH_PORT', 'HEALTH_PORT']);
  expect(canBeServiceVariable('OAUTH_SERVICE_PORT_CLIENT_ID')).toBe(true);
  expect(canBeServiceVariable('OAUTH_GITHUB_CLIENT_ID')).toBe(false);
});

describe('a misspelt setting that resembles a variable of a Service', () => {
  test.for<[name: string, value: string]>([
    ['AUTH_PORT', 'abc'],
    ['AUTH_PORT', '8081'],
    ['AUTH_PORT', 'http://10.0.0.1:80'],
    ['AUTH_PORT', 'tcp://auth:80'],
    ['AUTH_PORT', 'tcp://10.0.0.1:99999'],
    ['AUTH_PORT', 'tcp://10.0.0.1:80/x'],
  ])('is refused: %s=%s', ([name, value]) => {
    expect(() => loadConfig(allSettingsSpec, { ...requiredSettings, [name]: value })).toThrow(
      `${name} is not a setting of the gateway.`,
    );
  });

  test.for<[name: string, value: string]>([
    ['GATEWAY_SERVICE_HOST', 'gateway.example.com'],
    ['GATEWAY_SERVICE_PORT', '0'],
    ['GATEWAY_SERVICE_PORT_HTTP', 'http'],
    ['EXECUTOR_PORT_9104_TCP', 'udp://10.0.0.1:9104'],
    ['EXECUTOR_PORT_9104_TCP', 'tcp://10.0.0.1:9105'],
    ['EXECUTOR_PORT_9104_TCP_PORT', '9105'],
    ['EXECUTOR_PORT_9104_TCP_PROTO', 'udp'],
    ['EXECUTOR_PORT_9104_TCP_ADDR', 'executor'],
    ['EXECUTOR_PORT_MAX', '9'],
  ])('causes a warning: %s=%s', ([name, value]) => {
    expect(listStrayVariables({ [name]: value })).toEqual([name]);
  });

  test.for(['HEALTH_PORT', 'OAUTH_PORT'])(
    'is refused as a value of the setting: %s=tcp://health:80',
    (name) => {
      expect(() =>
        loadConfig(allSettingsSpec, { ...requiredSettings, [name]: 'tcp://health:80' }),
      ).toThrow(`${name} must be a whole number`);
    },
  );
});
