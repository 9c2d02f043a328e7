import { defineConfig } from '#config';
import type { Config } from '#config';
import { readEgressSettings } from '#egress';

const settingNames = [
  'DATABASE_URL',
  'DATABASE_CONNECTIONS_MAX',
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
