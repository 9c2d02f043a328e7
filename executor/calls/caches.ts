import { deadlineIn } from '#bus';
import type { Client } from '#bus';
import type { auth, OrgSettings } from '#contracts/bus/auth';
import type { registry } from '#contracts/bus/registry';
import type { CompiledTemplate } from '#contracts/template';
import { AppError } from '#errors';
import { createLookupCache } from '#cache';
import type { Logger } from '#telemetry';
import { templateDigest } from '#templates';
import type { DecidedTemplate, Deps } from '../deps.ts';

/**
 * Caches compiled templates until the registry announces a change; a compiled version never
 * changes. Compares the template's digest with the digest that policy signed, because a compromised
 * registry could show policy one template and the executor another.
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
      const compiledTemplate = await client.getCompiledTemplate(
        { orgId, template },
        deadlineIn(3_000),
      );
      if (templateDigest(compiledTemplate) === digest) return compiledTemplate;
      const { key, tier, version } = template;
      logger.error({ orgId, template: key, tier, version }, 'not the template of the decision');
      throw templateNotGenuineError(key);
    },
  });
  return {
    async get(templateKey) {
      const { key, tier, ownerId, version, toolset } = templateKey.template;
      const toolsetText = toolset === undefined ? '' : ` ${toolset.serviceId} ${toolset.version}`;
      const id = `${templateKey.orgId} ${tier} ${ownerId} ${key} ${version}${toolsetText} ${templateKey.digest}`;
      return templates.get(id, templateKey);
    },
    clear: () => templates.drop(),
  };
}

function templateNotGenuineError(key: string): AppError {
  return new AppError(
    'unavailable',
    `The template "${key}" is not the one that the call was decided by, so nothing was sent. Tell an admin.`,
    { details: { component: 'registry', reason: 'template_not_genuine', template: key } },
  );
}

/**
 * Caches org settings: auth is asked at most once per org and second, and only while the org makes
 * calls.
 */
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
