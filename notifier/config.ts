import { defineConfig } from '#config';
import type { Config } from '#config';
import { databaseSettings } from '#database';
import { readEgressSettings } from '#egress';

const settingNames = [
  ...databaseSettings,
  'NATS_URL',
  'LOG_LEVEL',
  'PRINCIPAL_KEY_NOTIFIER',
  'WEBHOOK_KEY',
  'EGRESS_ALLOW',
  'EGRESS_PROXY',
  'EGRESS_PROXY_RESOLVES',
  'EGRESS_CA_FILE',
  'HEALTH_PORT',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'HOST',
  'PORT',
  'BASE_URL',
  'OAUTH_URL',
] as const;

export const notifierConfig = defineConfig('notifier', settingNames, (config) => {
  readEgressSettings(config);
});
export type NotifierConfig = Config<(typeof settingNames)[number]>;
