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
const keys: ReadonlySet<string> = new Set([...keyNames, 'DECISION_PUBLIC_KEY']);

test.for(components)(
  'docker-compose.yml gives %s the keys it reads and no others',
  async (name) => {
    const file = await readFile(new URL('../docker-compose.yml', import.meta.url), 'utf8');
    const { services } = parse(file, { merge: true }) as {
      services: Record<string, { environment: Record<string, string> }>;
    };
    const given = Object.keys(services[name]?.environment ?? {}).filter((key) => keys.has(key));
    const read = configs[name].names.filter((key) => keys.has(key));

    expect(read.length).toBeGreaterThan(0);
    expect(given.toSorted()).toEqual(read.toSorted());
  },
);
