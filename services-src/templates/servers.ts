import { isPathVariable, serverPlaceholder } from '#contracts/server-variables';
import type { CompiledTemplate } from '#contracts/template';
import type { TemplateServer } from '#contracts/template-server';

type Served = Pick<CompiledTemplate, 'server' | 'servers'>;

/** All servers of a template, in its order. */
export function serversOf({ server, servers }: Served): readonly TemplateServer[] {
  return servers ?? (server === null ? [] : [server]);
}

/**
 * The server of a service that is connected by these security schemes: the first one that is for
 * one of them. Without schemes, which an earlier release did not record, the first one of all.
 */
export function serverFor(
  template: Served,
  schemes: readonly string[] | undefined,
): TemplateServer | undefined {
  const servers = serversOf(template);
  return schemes === undefined ? servers[0] : servers.find((each) => isFor(each, schemes));
}

/**
 * The hosts that are known before a service is connected by these security schemes, to which its
 * credentials go: that of its server, unless variables make it, and those of the servers that actions
 * have of their own. The other servers of the template give credentials no host.
 */
export function credentialHostsFor(
  template: Served & Pick<CompiledTemplate, 'actions'>,
  schemes: readonly string[] | undefined,
): readonly string[] {
  const server = serverFor(template, schemes);
  const own = server === undefined || hasVariableHost(server) ? [] : [hostIn(server.url)];
  return [...new Set([...own, ...actionHostsOf(template)])];
}

function hasVariableHost({ url, variables }: TemplateServer): boolean {
  return variables.some(({ name }) => !isPathVariable(url, name));
}

/**
 * The fixed hosts of the servers for these security schemes; those of all servers without schemes.
 * Deny rules reach a service there, whichever of them it is at.
 */
export function fixedHostsFor(
  template: Served & Pick<CompiledTemplate, 'actions' | 'hosts'>,
  schemes: readonly string[] | undefined,
): readonly string[] {
  if (template.servers === undefined || schemes === undefined) return template.hosts;
  const [here = [], elsewhere = []] = [true, false].map((isHere) =>
    serversOf(template)
      .filter((each) => isFor(each, schemes) === isHere)
      .map(({ url }) => hostIn(url)),
  );
  const ofActions = actionHostsOf(template);
  return template.hosts.filter(
    (host) => [...here, ...ofActions].includes(host) || !elsewhere.includes(host),
  );
}

/** The hosts of the servers that actions have of their own, which are for all schemes. */
function actionHostsOf({ actions }: Pick<CompiledTemplate, 'actions'>): string[] {
  return Object.values(actions).flatMap(({ server }) =>
    server === undefined ? [] : [hostIn(server.url)],
  );
}

function isFor({ schemes }: TemplateServer, wanted: readonly string[]): boolean {
  return schemes === undefined || schemes.some((scheme) => wanted.includes(scheme));
}

/** The host of a server URL as host lists write it. One with variables is in no list. */
export function hostIn(url: string): string {
  const { hostname, port } = new URL(url.replaceAll(serverPlaceholder, 'x'));
  return hostname.replace(/\.$/, '') + (port === '' ? '' : `:${port}`);
}
