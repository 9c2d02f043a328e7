import { ConfigError, defineConfig, keyNames, loadConfig } from '#config';
import type { ConfigSpec, Environment, SettingName } from '#config';
import { approvalsConfig } from './approvals/config.ts';
import { auditConfig } from './audit/config.ts';
import { authConfig } from './auth/config.ts';
import { executorConfig } from './executor/config.ts';
import { gatewayConfig } from './gateway/config.ts';
import { notifierConfig } from './notifier/config.ts';
import { policyConfig } from './policy/config.ts';
import { registryConfig } from './registry/config.ts';

/** The settings that limit the sizes of streams. NATS reserves disk space for these sizes. */
export const storeSizes = ['AUDIT_BYTES_MAX', 'EVENTS_BYTES_MAX', 'CAP_FILES_BYTES'] as const;
export const provisionConfig = defineConfig('provision', [
  'DATABASE_URL',
  'NATS_URL',
  'SERVERS_CA_FILE',
  'NATS_REPLICAS',
  ...storeSizes,
  'TEMPLATES_DIR',
  'SAMPLE_URL',
  'EGRESS_ALLOW',
]);

/**
 * Refuses wrong settings before anything starts. Keys and URLs that are created only later get a
 * valid placeholder for this check.
 */
export function checkSettings(environment: Environment): void {
  const placeholders = {
    DATABASE_URL: 'postgres://embedded',
    NATS_URL: 'nats://embedded',
    ...Object.fromEntries(keyNames.map((name) => [name, 'x'.repeat(43)])),
    DECISION_PUBLIC_KEY: 'x'.repeat(43),
  };
  const isInFile = ([name]: [string, string]) => environment[`${name}_FILE`] !== undefined;
  const filledEnvironment: Environment = {
    ...Object.fromEntries(Object.entries(placeholders).filter((each) => !isInFile(each))),
    ...environment,
  };
  const problems = new Set<string>();
  for (const spec of [
    gatewayConfig,
    authConfig,
    registryConfig,
    policyConfig,
    executorConfig,
    approvalsConfig,
    notifierConfig,
    auditConfig,
    provisionConfig,
  ] as ConfigSpec<SettingName>[]) {
    try {
      loadConfig(spec, filledEnvironment);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      for (const line of error.message.split('\n')) problems.add(line);
    }
  }
  if (problems.size > 0) throw new ConfigError([...problems].join('\n'));
}
