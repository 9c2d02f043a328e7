import { defineConfig } from '#config';
import type { Config } from '#config';

export const gatewayConfig = defineConfig('gateway', [
  'HOST',
  'PORT',
  'BASE_URL',
  'NATS_URL',
  'LOG_LEVEL',
  'CAP_REQUEST_BODY_BYTES',
  'RATE_IDENTITY_PER_MINUTE',
  'RATE_USER_PER_MINUTE',
  'RATE_SIGN_IN_PER_MINUTE',
  'RATE_REGISTER_PER_HOUR',
  'OAUTH_URL',
  'TRUSTED_PROXIES',
]);
export type GatewayConfig = Config<(typeof gatewayConfig)['names'][number]>;
