import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { ActionServer, TemplateServer } from '#contracts/template-server';
import { hostIn } from '#templates';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, DocumentNode, JsonObject } from '../../document/domain/context.ts';
import { checkFields } from '../../document/domain/fields.ts';
import { readText } from '../../document/domain/reading.ts';
import { baseOf, parseBaseUrl } from './base-url.ts';
import type { CompiledServers } from './compile-servers.ts';

/** The most different servers that the actions of one template may declare. */
export const actionServersMax = 10;

const basePathPattern = /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*){1,20}$/;

/**
 * Compiles the `servers` of a path or an operation, which replace the servers of the document.
 * Undefined when there are none, or when they cannot be used.
 */
export function compileActionServer(
  context: CompileContext,
  owner: DocumentNode<JsonObject>,
): ActionServer | undefined {
  const servers = owner.value['servers'];
  if (servers === undefined) return undefined;
  const { findings } = context;
  const path = [...owner.path, 'servers'];
  const [value, ...others] = Array.isArray(servers) ? servers : [];
  if (!isObject(value) || others.length > 0) {
    const message =
      'Name exactly one server here, as in [{url: https://files.example.com}], or remove "servers".';
    findings.error('server_invalid', path, message);
    return undefined;
  }
  return compileServer(context, { value, path: [...path, 0] });
}

function compileServer(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
): ActionServer | undefined {
  const { findings, options } = context;
  checkFields(context, node, 'server');
  const url = readText(context, node, { key: 'url', max: 2000, required: true });
  const basePath = readBasePath(context, node);
  if (url === undefined) return undefined;
  const path = [...node.path, 'url'];
  if (/[{}]/.test(url) || 'variables' in node.value) {
    const message =
      'The server of a path or operation has no variables. Write its URL out, or put the variables into the servers of the document.';
    findings.error('server_variable', path, message);
    return undefined;
  }
  const parsedUrl = parseBaseUrl(url, options.isPlainHttpAllowed);
  if (typeof parsedUrl === 'string') {
    const code = url.startsWith('http://') ? 'server_not_https' : 'server_invalid';
    findings.error(code, path, parsedUrl);
    return undefined;
  }
  return { url: baseOf(parsedUrl), ...(basePath === undefined ? {} : { basePath }) };
}

function readBasePath(context: CompileContext, node: DocumentNode<JsonObject>): string | undefined {
  const key = 'x-service-base-path';
  const basePath = readText(context, node, { key, max: 200 });
  if (basePath === undefined || basePathPattern.test(basePath)) return basePath;
  const message =
    'Give the path below a base URL at which the operation is, such as /content. Segments have letters, digits, "_", "~", "-" and, except at the start, ".".';
  context.findings.error('server_invalid', [...node.path, key], message);
  return undefined;
}

/**
 * Adds the servers of actions to those of the document: credentials go to their hosts too. Components of
 * an earlier release do not know the runtime, and refuse the template.
 */
export function addActionServers(
  { findings }: CompileContext,
  servers: CompiledServers,
  actions: Readonly<Record<string, CompiledAction>>,
): CompiledServers & Pick<CompiledTemplate, 'runtime'> {
  const urls = new Set(Object.values(actions).flatMap(({ server }) => server?.url ?? []));
  if (urls.size === 0) return { ...servers, runtime: 'http' };
  if (urls.size > actionServersMax) {
    const message = `Paths and operations may have ${actionServersMax} different servers together.`;
    findings.error('out_of_bounds', ['paths'], message);
  }
  // On these origins the path selects the site, company or tenant, so another server there could
  // give access to all of them.
  const origins = (servers.servers ?? []).filter(isOfAccount).map(originOf);
  const [clash] = [...urls].filter((url) => origins.includes(new URL(url).origin));
  if (clash !== undefined) {
    const message = `No operation may have a server on the host of one whose path comes from the account, as ${clash} is: it could reach what the person did not pick. Leave "servers" out there.`;
    findings.error('server_invalid', ['paths'], message);
  }
  const hosts = [...new Set([...servers.hosts, ...[...urls].map(hostIn)])];
  return { ...servers, hosts, runtime: 'http_servers' };
}

function isOfAccount({ variables }: TemplateServer): boolean {
  return variables.some(({ account }) => account !== undefined);
}

function originOf({ url }: TemplateServer): string {
  return new URL(url.replaceAll(/\{[^{}]*\}/g, 'x')).origin;
}
