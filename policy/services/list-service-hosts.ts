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
  /** The service's own base URL; null for a service at the address of its template. */
  readonly baseUrl: string | null;
  readonly scheme?: string | undefined;
}

/**
 * Lists the hosts that the credentials of a new service may go to: that of the server at which it is,
 * those of actions, those that give out tokens for it, and that of a base URL that an admin gave. All of
 * them are of the shipped or published template. The registry needs the list, but the
 * executor asks for it, so that the registry cannot invent hosts.
 */
export async function listServiceHosts(
  { lookups }: Pick<Deps, 'lookups'>,
  { orgId, userId, template: reference, baseUrl, scheme }: ListServiceHostsFields,
): Promise<{ hosts: string[]; account?: AccountAddress }> {
  const { key } = reference;
  const template = await getOwnersTemplate(lookups, { orgId, userId }, reference);
  const tokenHosts = tokenHostsOf(template);
  if (baseUrl === null) {
    // The earlier release of the executor names no scheme.
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

/** What a connection that is bound to a part of the account may go to. */
function accountPart(
  template: CompiledTemplate,
  server: TemplateServer | undefined,
): { account?: AccountAddress } {
  const account = accountAddressOf(server);
  if (account === undefined) return {};
  const actionServers = [...actionServerUrls(template)];
  return { account: { ...account, ...(actionServers.length === 0 ? {} : { actionServers }) } };
}

/** The hosts that give out tokens for the secrets of the template. */
function tokenHostsOf({ auth }: CompiledTemplate): string[] {
  return auth.flatMap((method) =>
    method.type === 'apiKey' ? (tokenHostOf(method.derivation) ?? []) : [],
  );
}
