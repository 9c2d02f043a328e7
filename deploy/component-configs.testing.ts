import type { ConfigSpec, SettingName } from '#config';
import type { Component } from '#contracts/vocabulary';
import { approvalsConfig } from '../approvals/config.ts';
import { auditConfig } from '../audit/config.ts';
import { authConfig } from '../auth/config.ts';
import { executorConfig } from '../executor/config.ts';
import { gatewayConfig } from '../gateway/config.ts';
import { notifierConfig } from '../notifier/config.ts';
import { policyConfig } from '../policy/config.ts';
import { registryConfig } from '../registry/config.ts';

/** The settings that each component reads. */
export const componentConfigs = {
  gateway: gatewayConfig,
  auth: authConfig,
  registry: registryConfig,
  policy: policyConfig,
  executor: executorConfig,
  approvals: approvalsConfig,
  notifier: notifierConfig,
  audit: auditConfig,
} as Readonly<Record<Component, ConfigSpec<SettingName>>>;
