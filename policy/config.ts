import { defineConfig, gapKeyNames } from '#config';
import type { Config } from '#config';

export const policyConfig = defineConfig('policy', [
  'DATABASE_URL',
  'DATABASE_CONNECTIONS_MAX',
  'NATS_URL',
  'PRINCIPAL_KEY_POLICY',
  'PERMIT_KEY',
  ...gapKeyNames,
  'DECISION_PUBLIC_KEY',
  'LOG_LEVEL',
]);

export type PolicyConfig = Config<(typeof policyConfig)['names'][number]>;
