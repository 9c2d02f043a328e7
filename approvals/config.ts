import { defineConfig } from '#config';
import type { Config } from '#config';
import { databaseSettings } from '#database';

export const approvalsConfig = defineConfig('approvals', [
  ...databaseSettings,
  'NATS_URL',
  'DECISION_PUBLIC_KEY',
  'LOG_LEVEL',
  'PRINCIPAL_KEY_APPROVALS',
  'GAP_KEY_APPROVALS',
  'HOST',
  'PORT',
  // Approval URLs begin with this setting. They never use the Host header of a request, because the
  // caller can choose it.
  'BASE_URL',
  'APPROVALS_OPEN_PER_REQUESTER',
  'APPROVALS_OPEN_PER_SUBTREE',
  'APPROVALS_RAISED_PER_HOUR',
]);

export type ApprovalsConfig = Config<(typeof approvalsConfig.names)[number]>;
