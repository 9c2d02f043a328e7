import { defineConfig, principalKeyNames } from '#config';
import type { Config } from '#config';
import { databaseSettings } from '#database';
import { readEgressSettings } from '#egress';
import { readEnvironmentProviders } from './sign-in-providers/environment-providers.ts';

export const authConfig = defineConfig(
  'auth',
  [
    ...databaseSettings,
    'NATS_URL',
    'SHUTDOWN_PAUSE_SECONDS',
    ...principalKeyNames,
    'DECISION_KEY',
    'SIGN_IN_KEY',
    'SIGN_IN_PROVIDERS',
    'SIGN_IN_LINK',
    'BASE_URL',
    'HOST',
    'PORT',
    'OAUTH_HOST',
    'OAUTH_PORT',
    'OAUTH_REDIRECT_SCHEMES',
    'REFRESH_REUSE_GRACE_SECONDS',
    'EGRESS_ALLOW',
    'EGRESS_PROXY',
    'EGRESS_PROXY_RESOLVES',
    'EGRESS_CA_FILE',
    'HEALTH_PORT',
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'LOG_LEVEL',
  ],
  (config) => {
    readEgressSettings(config);
    readEnvironmentProviders(config.SIGN_IN_PROVIDERS);
  },
);

export type AuthConfig = Config<(typeof authConfig)['names'][number]>;
