import type { Client, Deadline } from '#bus';
import type { policy } from '#contracts/bus/policy';
import type { TemplateReference } from '#contracts/call';
import { AppError } from '#errors';
import type { Principal } from '#contracts/vocabulary';

export type ListServiceHosts = Client<typeof policy>['listServiceHosts'];

/** The registry's request when a user connects a service: let the credential go to these hosts. */
export interface AllowHostsFields {
  readonly principal: string;
  /** To the credential. */
  readonly reference: string;
  readonly hosts: readonly string[];
  readonly template: TemplateReference;
  readonly baseUrl: string;
}

interface Asked {
  readonly template: TemplateReference;
  /** Null: of the template alone. */
  readonly baseUrl: string | null;
  readonly hosts: readonly string[];
}

/**
 * Throws unless these are hosts of the service: of its template as it was shipped or published, or
 * of a base URL that an admin gave. A principal in the registry's request is no proof of that: a
 * stolen registry holds the principals of everyone who calls it.
 */
export async function checkHostsAreKnown(
  { listServiceHosts }: { listServiceHosts: ListServiceHosts },
  { orgId, userId }: Pick<Principal, 'orgId' | 'userId'>,
  { template, baseUrl, hosts }: Asked,
  deadline: Deadline,
): Promise<void> {
  const known = await listServiceHosts({ orgId, userId, template, baseUrl }, deadline);
  const others = hosts.filter((host) => !known.hosts.includes(host));
  if (others.length === 0) return;
  throw new AppError(
    'host_not_allowed',
    `The template "${template.key}" does not have the host ${others.join(', ')}, so no credential was let go there. Tell an admin.`,
    { details: { hosts: others, template: template.key } },
  );
}
