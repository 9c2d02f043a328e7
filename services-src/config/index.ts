export { deriveBaseUrl } from './base-url.ts';
export { gapKeyNames, keyNames, principalKeyNames, revealKeys } from './keys.ts';
export {
  ConfigError,
  defineConfig,
  listStrayVariables,
  loadConfig,
  settingFamilies,
  settingVariables,
} from './load.ts';
export type { Config, ConfigSpec, Environment } from './load.ts';
export { natsServersOf } from './nats-url.ts';
export { SecretText } from './secret.ts';
export { describeTlsFailure, isLoopbackHost } from './server-tls.ts';
export { settings } from './settings.ts';
export type { Setting, SettingName } from './settings.ts';
