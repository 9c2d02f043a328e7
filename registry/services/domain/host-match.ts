import type { CompiledTemplate } from '#contracts/template';
import type { TemplateServer } from '#contracts/template-server';
import { serversOf } from '#templates';
import { hostOf } from '../../servers/domain/hosts.ts';

/**
 * Whether a template can have this host (in the form that permission keys use): as a fixed host, or
 * by the values of its variables. Calls by full URL to such a host are subject to the deny rules on
 * the template.
 */
export function matchesHost(
  template: Pick<CompiledTemplate, 'hosts' | 'server' | 'servers'>,
  host: string,
): boolean {
  return (
    template.hosts.includes(host) || serversOf(template).some((server) => mayHave(server, host))
  );
}

function mayHave({ url, variables }: TemplateServer, host: string): boolean {
  if (variables.length === 0) return false;
  const allowedHost = hostOf(new URL(url.replaceAll(/\{[^{}]*\}/g, 'variable')));
  const pattern = allowedHost
    .split('variable')
    .map((literal) => literal.replaceAll(/[.*+?^${}()|[\]\\-]/g, '\\$&'))
    .join('[a-z0-9-]{1,63}');
  return new RegExp(`^${pattern}$`).test(host);
}
