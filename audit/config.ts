import { defineConfig } from '#config';
import type { Config } from '#config';
import { databaseSettings } from '#database';

export const auditConfig = defineConfig('audit', [
  ...databaseSettings,
  'NATS_URL',
  'PRINCIPAL_KEY_AUDIT',
  'LOG_LEVEL',
]);

export type AuditConfig = Config<(typeof auditConfig)['names'][number]>;
