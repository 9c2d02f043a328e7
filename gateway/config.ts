import { defineConfig } from '#config';
import type { Config } from '#config';
import { readSite, readTrustedProxies } from './read-settings.ts';

export const gatewayConfig = defineConfig(
  'gateway',
  [
    'HOST',
    'PORT',
    'BASE_URL',
    'NATS_URL',
    'SERVERS_CA_FILE',
    'SHUTDOWN_PAUSE_SECONDS',
    'CARD_KEY',
    'LOG_LEVEL',
    'LOG_REQUESTS',
    'CAP_REQUEST_BODY_BYTES',
    'CAP_JSON_DEPTH',
    'CAP_JSON_VALUES',
    'CAP_JSON_LIST_ITEMS',
    'CAP_JSON_NAMES',
    'CAP_JSON_NAME_CHARACTERS',
    'CAP_JSON_PATH_CHARACTERS',
    'CAP_QUERY_VALUES',
    'RATE_IDENTITY_PER_MINUTE',
    'RATE_USER_PER_MINUTE',
    'RATE_SIGN_IN_PER_MINUTE',
    'RATE_REGISTER_PER_HOUR',
    'AUDIT_BYTES_PER_MINUTE',
    'GATEWAY_IN_FLIGHT_MAX',
    'GATEWAY_STREAMS_MAX',
    'SHARE_ORG_PERCENT',
    'SHARE_USER_PERCENT',
    'SHARE_IDENTITY_PERCENT',
    'CONNECTIONS_PER_ADDRESS_MAX',
    'RATE_PUBLIC_PER_MINUTE',
    'OAUTH_URL',
    'OAUTH_REDIRECT_SCHEMES',
    'MCP_ORIGINS',
    'TRUSTED_PROXIES',
  ],
  (config) => {
    readSite(config);
    readTrustedProxies(config.TRUSTED_PROXIES);
  },
);
export type GatewayConfig = Config<(typeof gatewayConfig)['names'][number]>;
