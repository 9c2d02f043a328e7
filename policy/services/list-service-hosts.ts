import type { AccountAddress } from '#contracts/account-value';
import type { TemplateReference } from '#contracts/call';
import type { CompiledTemplate } from '#contracts/template';
import type { TemplateServer } from '#contracts/template-server';
import {
  accountAddressOf,
  actionServerUrls,
  credentialHostsFor,
  hostIn,
  isServedAt,
  serverFor,
  serversOf,
  tokenHostOf,
} from '#templates';
import type { Deps } from '../deps.ts';
import { getOwnersTemplate, addressNotGenuineError } from './connected-service.ts';
import { hostOf } from './domain/hosts.ts';

interface ListServiceHostsFields {
  readonly orgId: string;
  readonly userId: string;
  readonly template: TemplateReference;
  /** The service's own base URL. Null if the service uses the address in its template. */
  readonly baseUrl: string | null;
  readonly scheme?: string | undefined;
}

/**
 * Lists the hosts that the credentials of a new service may go to: the host of its server or of the
 * base URL that an admin gave, the hosts of action servers, and the hosts that issue tokens. All
 * hosts but the admin's come from the shipped or published template. The registry needs the list,
 * but the executor requests it from policy, so that the registry cannot invent hosts.
 */
export async function listServiceHosts(
  { lookups }: Pick<Deps, 'lookups'>,
  { orgId, userId, template: reference, baseUrl, scheme }: ListServiceHostsFields,
): Promise<{ hosts: string[]; account?: AccountAddress }> {
  const { key } = reference;
  const template = await getOwnersTemplate(lookups, { orgId, userId }, reference);
  const tokenHosts = tokenHostsOf(template);
  if (baseUrl === null) {
    // An executor of the earlier release sends no scheme.
    const hosts = scheme === undefined ? template.hosts : credentialHostsFor(template, [scheme]);
    return {
      hosts: [...new Set([...hosts, ...tokenHosts])],
      ...accountPart(template, serverFor(template, scheme === undefined ? scheme : [scheme])),
    };
  }
  const url = URL.parse(baseUrl);
  if (url === null) throw addressNotGenuineError(key, baseUrl);
  const server = serversOf(template).find((each) => isServedAt(each, baseUrl));
  if (server !== undefined) {
    const hosts = actionServerUrls(template).map(hostIn);
    return {
      hosts: [...new Set([hostOf(url), ...hosts, ...tokenHosts])],
      ...accountPart(template, server),
    };
  }
  if (!(await lookups.isKnownAddress(orgId, baseUrl))) throw addressNotGenuineError(key, baseUrl);
  return { hosts: [...new Set([hostOf(url), ...tokenHosts])] };
}

/**
 * The addresses that a connection may go to when it is bound to one site of the account. Empty if
 * the server does not depend on the account.
 */
function accountPart(
  template: CompiledTemplate,
  server: TemplateServer | undefined,
): { account?: AccountAddress } {
  const account = accountAddressOf(server);
  if (account === undefined) return {};
  const actionServers = [...actionServerUrls(template)];
  return { account: { ...account, ...(actionServers.length === 0 ? {} : { actionServers }) } };
}

/** The hosts that issue tokens in exchange for the secrets of the template. */
function tokenHostsOf({ auth }: CompiledTemplate): string[] {
  return auth.flatMap((method) =>
    method.type === 'apiKey' ? (tokenHostOf(method.derivation) ?? []) : [],
  );
}
