import { defineConfig, gapKeyNames } from '#config';
import type { Config } from '#config';
import { databaseSettings } from '#database';

export const policyConfig = defineConfig('policy', [
  ...databaseSettings,
  'NATS_URL',
  'PRINCIPAL_KEY_POLICY',
  'PERMIT_KEY',
  ...gapKeyNames,
  'DECISION_PUBLIC_KEY',
  'LOG_LEVEL',
]);

export type PolicyConfig = Config<(typeof policyConfig)['names'][number]>;
