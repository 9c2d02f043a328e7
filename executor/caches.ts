import { deadlineIn } from '#bus';
import type { Client } from '#bus';
import type { auth, OrgSettings } from '#contracts/bus/auth';
import type { registry } from '#contracts/bus/registry';
import type { TemplateReference } from '#contracts/call';
import type { CompiledTemplate } from '#contracts/template';
import type { Logger } from '#telemetry';
import { createCache } from './caching.ts';
import type { Deps } from './deps.ts';

type TemplateAt = { orgId: string; template: TemplateReference };

/** Compiled versions never change, so they stay until the registry says that something did. */
export function createTemplateCache(client: Client<typeof registry>): {
  get: Deps['getTemplate'];
  clear(): void;
} {
  const templates = createCache<TemplateAt, CompiledTemplate>({
    max: 300,
    fetch: (at) => client.getCompiledTemplate(at, deadlineIn(3_000)),
  });
  return {
    async get(at) {
      const { key, tier, ownerId, version, toolset } = at.template;
      const tools = toolset === undefined ? '' : ` ${toolset.serviceId} ${toolset.version}`;
      const id = `${at.orgId} ${tier} ${ownerId} ${key} ${version}${tools}`;
      const found = await templates.get(id, at);
      if (found === undefined) throw new Error('the registry gave no template');
      return found;
    },
    clear: () => templates.drop(() => true),
  };
}

/** One question to auth per org and second at most, and only while calls are made. */
export function createOrgSettingsCache(
  client: Client<typeof auth>,
  logger: Logger,
): Deps['findOrgSettings'] {
  const settings = createCache<string, OrgSettings>({
    max: 1_000,
    ttlMs: 1_000,
    fetch: (orgId) => client.getOrgSettings({ orgId }, deadlineIn(1_000)),
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
