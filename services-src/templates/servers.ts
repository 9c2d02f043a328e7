import { isPathVariable, serverPlaceholder } from '#contracts/server-variables';
import type { CompiledTemplate } from '#contracts/template';
import type { TemplateServer } from '#contracts/template-server';

type Served = Pick<CompiledTemplate, 'server' | 'servers'>;

/** All servers of a template, in its order. */
export function serversOf({ server, servers }: Served): readonly TemplateServer[] {
  return servers ?? (server === null ? [] : [server]);
}

/**
 * The server of a service that is connected with these security schemes: the first server for one
 * of them. When the schemes are missing, because an earlier release did not record them, it is the
 * first server of the template.
 */
export function serverFor(
  template: Served,
  schemes: readonly string[] | undefined,
): TemplateServer | undefined {
  const servers = serversOf(template);
  return schemes === undefined ? servers[0] : servers.find((each) => isServerFor(each, schemes));
}

/**
 * The hosts to which a service with these security schemes will send its credentials, as far as
 * they are known before it is connected. These are the host of its server, unless the URL has
 * variables in its host, and the hosts of servers that single actions declare. Other servers of the
 * template are ignored.
 */
export function credentialHostsFor(
  template: Served & Pick<CompiledTemplate, 'actions'>,
  schemes: readonly string[] | undefined,
): readonly string[] {
  const server = serverFor(template, schemes);
  const serverHosts = server === undefined || hasVariableHost(server) ? [] : [hostIn(server.url)];
  return [...new Set([...serverHosts, ...actionHostsOf(template)])];
}

function hasVariableHost({ url, variables }: TemplateServer): boolean {
  return variables.some(({ name }) => !isPathVariable(url, name));
}

/**
 * The fixed hosts of the servers for these security schemes, or of all servers when no schemes are
 * given. Deny rules reach a service at all of these hosts, whichever of them it uses.
 */
export function fixedHostsFor(
  template: Served & Pick<CompiledTemplate, 'actions' | 'hosts'>,
  schemes: readonly string[] | undefined,
): readonly string[] {
  if (template.servers === undefined || schemes === undefined) return template.hosts;
  const [wantedHosts = [], otherHosts = []] = [true, false].map((isWanted) =>
    serversOf(template)
      .filter((each) => isServerFor(each, schemes) === isWanted)
      .map(({ url }) => hostIn(url)),
  );
  const actionHosts = actionHostsOf(template);
  return template.hosts.filter(
    (host) => [...wantedHosts, ...actionHosts].includes(host) || !otherHosts.includes(host),
  );
}

/** The hosts of the servers that single actions declare. They apply to all security schemes. */
function actionHostsOf({ actions }: Pick<CompiledTemplate, 'actions'>): string[] {
  return Object.values(actions).flatMap(({ server }) =>
    server === undefined ? [] : [hostIn(server.url)],
  );
}

function isServerFor({ schemes }: TemplateServer, wanted: readonly string[]): boolean {
  return schemes === undefined || schemes.some((scheme) => wanted.includes(scheme));
}

/** The host of a server URL as host lists write it. Host lists contain no host with variables. */
export function hostIn(url: string): string {
  const { hostname, port } = new URL(url.replaceAll(serverPlaceholder, 'x'));
  return hostname.replace(/\.$/, '') + (port === '' ? '' : `:${port}`);
}
