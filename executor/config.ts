import { defineConfig } from '#config';
import type { Config } from '#config';
import { databaseSettings } from '#database';
import { readEgressSettings } from '#egress';
import { checkEnvironmentApps } from './providers/provider-apps.ts';
import { readMasterKeys } from './vault/master-keys.ts';

export const executorConfig = defineConfig(
  'executor',
  [
    ...databaseSettings,
    'NATS_URL',
    'LOG_LEVEL',
    'PRINCIPAL_KEY_EXECUTOR',
    'PERMIT_KEY',
    'GAP_KEY_EXECUTOR',
    'CARD_KEY',
    'MASTER_KEY',
    'EXECUTOR_IN_FLIGHT_MAX',
    'SHARE_ORG_PERCENT',
    'SHARE_USER_PERCENT',
    'SHARE_IDENTITY_PERCENT',
    'CAP_SENT_BODY_BYTES',
    'CAP_RESPONSE_INLINE_BYTES',
    'OAUTH_APPS',
    'CAP_RESPONSE_STORED_BYTES',
    'CAP_FILES_BYTES',
    'REQUESTS_PER_HOUR',
    'AUDIT_BYTES_PER_MINUTE',
    'EGRESS_ALLOW',
    'EGRESS_PROXY',
    'EGRESS_PROXY_RESOLVES',
    'EGRESS_TRACE_CONTEXT',
    'EGRESS_CA_FILE',
    // The address where this installation listens, and from which files are downloaded. The executor
    // never sends calls to it, because a call could come back to the gateway.
    'HOST',
    'PORT',
    'BASE_URL',
    'OAUTH_URL',
    'HEALTH_PORT',
    'OTEL_EXPORTER_OTLP_ENDPOINT',
  ],
  (config) => {
    readEgressSettings(config);
    readMasterKeys(config.MASTER_KEY);
    checkEnvironmentApps(config.OAUTH_APPS);
  },
);
export type ExecutorConfig = Config<(typeof executorConfig)['names'][number]>;
