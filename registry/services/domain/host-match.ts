import type { CompiledTemplate } from '#contracts/template';
import { builtInProviders } from '#providers';
import { mayBeOn, prefixesOn, serversOf } from '#templates';
import type { Service } from './service.ts';

type Reached = Pick<CompiledTemplate, 'hosts' | 'server' | 'servers' | 'alsoAt' | 'auth'>;

/**
 * Whether a request to this host (in the form that permission keys use) may be one of the
 * template's: its API is there, by the values of its variables perhaps, or the host is of a provider
 * at which its accounts are. Calls by full URL to such a host are subject to the deny rules on the
 * template.
 */
export function matchesHost(template: Reached, host: string): boolean {
  return (
    template.hosts.includes(host) ||
    [...serversOf(template).map(({ url }) => url), ...(template.alsoAt ?? [])].some((url) =>
      mayBeOn(url, host),
    ) ||
    isOfProviderAt(template, host)
  );
}

/**
 * By what a request to this host may be one of the service's: a root of its template (`root`), or
 * the provider of its template (`provider`). Undefined when neither is there.
 */
export function otherMatchOf(
  { baseUrl }: Pick<Service, 'baseUrl'>,
  template: Reached,
  host: string,
): 'root' | 'provider' | undefined {
  if (prefixesOn(template, { host, baseUrl }).length > 0) return 'root';
  return isOfProviderAt(template, host) ? 'provider' : undefined;
}

/** Whether the host is on the list of a built-in provider of the template's accounts. */
function isOfProviderAt({ auth }: Pick<CompiledTemplate, 'auth'>, host: string): boolean {
  return auth.some(
    (method) =>
      method.type === 'oauth2' &&
      builtInProviders().get(method.provider)?.hosts.includes(host) === true,
  );
}
