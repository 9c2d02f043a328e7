import type { Client, Deadline } from '#bus';
import type { policy } from '#contracts/bus/policy';
import type { TemplateReference } from '#contracts/call';
import { AppError } from '#errors';
import type { Principal } from '#contracts/vocabulary';

export type ListServiceHosts = Client<typeof policy>['listServiceHosts'];

/**
 * What the registry sends when a user connects a service: the credential, and the hosts to which it
 * should be allowed to go.
 */
export interface AllowHostsFields {
  readonly principal: string;
  /** The name of the credential. */
  readonly reference: string;
  readonly hosts: readonly string[];
  readonly template: TemplateReference;
  readonly baseUrl: string;
}

interface HostsToCheck {
  readonly template: TemplateReference;
  /** Null when the template alone determines the hosts. */
  readonly baseUrl: string | null;
  readonly hosts: readonly string[];
  /**
   * The security scheme with which the service will be connected. Set only when `baseUrl` is
   * absent.
   */
  readonly scheme?: string;
}

/**
 * Throws unless policy knows the hosts as hosts of the service. Policy knows them from the shipped
 * or published template, or from a base URL that an admin set. The principal in the registry's
 * request is no proof, because a compromised registry could use the principal of any of its
 * callers. Returns policy's whole answer.
 */
export async function checkHostsAreKnown(
  { listServiceHosts }: { listServiceHosts: ListServiceHosts },
  { orgId, userId }: Pick<Principal, 'orgId' | 'userId'>,
  { hosts, ...place }: HostsToCheck,
  deadline: Deadline,
): Promise<Awaited<ReturnType<ListServiceHosts>>> {
  const serviceHosts = await listServiceHosts({ orgId, userId, ...place }, deadline);
  const unknownHosts = hosts.filter((host) => !serviceHosts.hosts.includes(host));
  if (unknownHosts.length === 0) return serviceHosts;
  const { template } = place;
  throw new AppError(
    'host_not_allowed',
    `The template "${template.key}" does not have the host ${unknownHosts.join(', ')}, so no credential was let go there. Tell an admin.`,
    { details: { hosts: unknownHosts, template: template.key } },
  );
}
