import type { TemplateReference } from '#contracts/call';
import type { Deps } from '../deps.ts';
import { hostOf } from '../domain/hosts.ts';
import { isServedAt } from '../domain/service-address.ts';
import { getOwnersTemplate, notAtAddress } from '../facts/services.ts';

interface ListServiceHostsFields {
  readonly orgId: string;
  readonly userId: string;
  readonly template: TemplateReference;
  /** Null: of the template alone. */
  readonly baseUrl: string | null;
}

/**
 * To which hosts a person may let credentials go by connecting a service: those of a template that
 * was shipped or published, and of a base URL that it or an admin has. The registry, which asks the
 * executor for it with that person's principal, makes none of them up.
 */
export async function listServiceHosts(
  { lookups }: Pick<Deps, 'lookups'>,
  { orgId, userId, template: reference, baseUrl }: ListServiceHostsFields,
): Promise<{ hosts: string[] }> {
  const { key } = reference;
  const template = await getOwnersTemplate(lookups, { orgId, userId }, reference);
  if (baseUrl === null) return { hosts: [...template.hosts] };
  const url = URL.parse(baseUrl);
  if (url === null) throw notAtAddress(key, baseUrl);
  if (isServedAt(template.server, baseUrl)) {
    return { hosts: [...new Set([hostOf(url), ...template.hosts])] };
  }
  if (!(await lookups.isKnownAddress(orgId, baseUrl))) throw notAtAddress(key, baseUrl);
  return { hosts: [hostOf(url)] };
}
