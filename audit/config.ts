import { defineConfig } from '#config';
import type { Config } from '#config';

export const auditConfig = defineConfig('audit', [
  'DATABASE_URL',
  'DATABASE_CONNECTIONS_MAX',
  'NATS_URL',
  'PRINCIPAL_KEY_AUDIT',
  'LOG_LEVEL',
]);

export type AuditConfig = Config<(typeof auditConfig)['names'][number]>;
