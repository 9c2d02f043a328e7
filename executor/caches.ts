import { deadlineIn } from '#bus';
import type { Client } from '#bus';
import type { auth, OrgSettings } from '#contracts/bus/auth';
import type { registry } from '#contracts/bus/registry';
import type { CompiledTemplate } from '#contracts/template';
import { AppError } from '#errors';
import { createLookupCache } from '#cache';
import type { Logger } from '#telemetry';
import { templateDigest } from '#templates';
import type { DecidedTemplate, Deps } from './deps.ts';

/**
 * Compiled versions never change, so they stay until the registry says that something did. What it
 * gives must be what policy decided by: it could show policy one template and the executor another.
 */
export function createTemplateCache(
  client: Client<typeof registry>,
  logger: Logger,
): {
  get: Deps['getTemplate'];
  clear(): void;
} {
  const templates = createLookupCache<DecidedTemplate, CompiledTemplate>({
    max: 300,
    lookUp: async ({ orgId, template, digest }) => {
      const found = await client.getCompiledTemplate({ orgId, template }, deadlineIn(3_000));
      if (templateDigest(found) === digest) return found;
      const { key, tier, version } = template;
      logger.error({ orgId, template: key, tier, version }, 'not the template of the decision');
      throw notDecidedBy(key);
    },
  });
  return {
    async get(at) {
      const { key, tier, ownerId, version, toolset } = at.template;
      const tools = toolset === undefined ? '' : ` ${toolset.serviceId} ${toolset.version}`;
      const id = `${at.orgId} ${tier} ${ownerId} ${key} ${version}${tools} ${at.digest}`;
      return templates.get(id, at);
    },
    clear: () => templates.drop(),
  };
}

function notDecidedBy(key: string): AppError {
  return new AppError(
    'unavailable',
    `The template "${key}" is not the one that the call was decided by, so nothing was sent. Tell an admin.`,
    { details: { component: 'registry', reason: 'template_not_genuine', template: key } },
  );
}

/** One question to auth per org and second at most, and only while calls are made. */
export function createOrgSettingsCache(
  client: Client<typeof auth>,
  logger: Logger,
): Deps['findOrgSettings'] {
  const settings = createLookupCache<string, OrgSettings>({
    max: 1_000,
    ttlMs: 1_000,
    lookUp: (orgId) => client.getOrgSettings({ orgId }, deadlineIn(1_000)),
  });
  return async (orgId) => {
    try {
      return await settings.get(orgId, orgId);
    } catch (error) {
      logger.warn({ err: error, orgId }, 'org settings are not known');
      return undefined;
    }
  };
}
