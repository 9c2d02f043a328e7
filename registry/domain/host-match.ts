import type { CompiledTemplate } from '#contracts/template';
import { hostOf } from './hosts.ts';

/**
 * Whether a host, as it stands in keys, could be one of a template's: one of its fixed hosts, or
 * one its variables could form. Deny rules on a template hold for raw HTTP to such a host.
 */
export function hasHost(
  { hosts, server }: Pick<CompiledTemplate, 'hosts' | 'server'>,
  host: string,
): boolean {
  if (hosts.includes(host)) return true;
  if (server === null || server.variables.length === 0) return false;
  const meant = hostOf(new URL(server.url.replaceAll(/\{[^{}]*\}/g, 'variable')));
  const pattern = meant
    .split('variable')
    .map((literal) => literal.replaceAll(/[.*+?^${}()|[\]\\-]/g, '\\$&'))
    .join('[a-z0-9-]{1,63}');
  return new RegExp(`^${pattern}$`).test(host);
}
