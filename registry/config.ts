import { defineConfig } from '#config';
import type { Config } from '#config';
import { databaseSettings } from '#database';
import { readEgressSettings } from '#egress';
import { checkTemplateFolder } from './templates/template-folder.ts';

export const registryConfig = defineConfig(
  'registry',
  [
    ...databaseSettings,
    'NATS_URL',
    'PRINCIPAL_KEY_REGISTRY',
    'TEMPLATES_DIR',
    'SAMPLE_URL',
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
    'LOG_LEVEL',
  ],
  (config) => {
    readEgressSettings(config);
    checkTemplateFolder(config);
  },
);

export type RegistryConfig = Config<(typeof registryConfig)['names'][number]>;
