import type { CompiledTemplate } from '#contracts/template';
import { builtInProviders } from '#providers';
import { mayBeOn, prefixesOn, serversOf } from '#templates';
import type { Service } from './service.ts';

type Reached = Pick<CompiledTemplate, 'hosts' | 'server' | 'servers' | 'alsoAt' | 'auth'>;

/**
 * Whether a request to this host (in the form that permission keys use) may belong to the template.
 * That is so when the template's API may be on the host, with some values of its variables, or when
 * the provider of its accounts uses the host. Calls by full URL to such a host are subject to the
 * deny rules on the template.
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
 * Why a request to this host may belong to the service: a root of its template is on the host
 * (`root`), or the provider of its template uses the host (`provider`). Undefined when neither is
 * the case.
 */
export function otherMatchOf(
  { baseUrl }: Pick<Service, 'baseUrl'>,
  template: Reached,
  host: string,
): 'root' | 'provider' | undefined {
  if (prefixesOn(template, { host, baseUrl }).length > 0) return 'root';
  return isOfProviderAt(template, host) ? 'provider' : undefined;
}

/** Whether a built-in provider of the template's accounts lists this host. */
function isOfProviderAt({ auth }: Pick<CompiledTemplate, 'auth'>, host: string): boolean {
  return auth.some(
    (method) =>
      method.type === 'oauth2' &&
      builtInProviders().get(method.provider)?.hosts.includes(host) === true,
  );
}
