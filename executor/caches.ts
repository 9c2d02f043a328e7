import { LRUCache } from 'lru-cache';

import { deadlineIn } from '#bus';
import type { Client } from '#bus';
import type { auth, OrgSettings } from '#contracts/bus/auth';
import type { registry } from '#contracts/bus/registry';
import type { TemplateReference } from '#contracts/call';
import type { CompiledTemplate } from '#contracts/template';
import type { Logger } from '#telemetry';
import type { Deps } from './deps.ts';

type TemplateAt = { orgId: string; template: TemplateReference };

/** Compiled versions never change, so they stay until the registry says that something did. */
export function createTemplateCache(client: Client<typeof registry>): {
  get: Deps['getTemplate'];
  clear(): void;
} {
  const templates = new LRUCache<string, CompiledTemplate, TemplateAt>({
    max: 300,
    fetchMethod: (_key, _stale, { context }) =>
      client.getCompiledTemplate(context, deadlineIn(3_000)),
  });
  return {
    async get(at) {
      const { key, tier, ownerId, version } = at.template;
      const found = await templates.fetch(`${at.orgId} ${tier} ${ownerId} ${key} ${version}`, {
        context: at,
      });
      if (found === undefined) throw new Error('the template cache gave no template');
      return found;
    },
    clear: () => templates.clear(),
  };
}

/** One question to auth per org and second at most, and only while calls are made. */
export function createOrgSettingsCache(
  client: Client<typeof auth>,
  logger: Logger,
): Deps['findOrgSettings'] {
  const settings = new LRUCache<string, OrgSettings>({
    max: 1_000,
    ttl: 1_000,
    fetchMethod: (orgId) => client.getOrgSettings({ orgId }, deadlineIn(1_000)),
  });
  return async (orgId) => {
    try {
      return await settings.fetch(orgId);
    } catch (error) {
      logger.warn({ err: error, orgId }, 'org settings are not known');
      return undefined;
    }
  };
}
