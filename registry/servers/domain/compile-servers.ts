import { isServerValue, serverPlaceholder } from '#contracts/server-variables';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { checkFields } from '../../document/domain/fields.ts';
import {
  entryNodesOf,
  readFlag,
  readList,
  readObject,
  readText,
} from '../../document/domain/reading.ts';
import { readAccountLookUp } from './account-look-up.ts';
import { baseOf, parseBaseUrl, withoutSlash } from './base-url.ts';
import { hostOf } from './hosts.ts';
import { checkPlaceholders, hasFixedHost, placeOf } from './placeholders.ts';
import type { Server, ServerVariable } from './server.ts';

export interface CompiledServers {
  readonly server: Server | null;
  /** Set when the servers are for different security schemes. */
  readonly servers?: Server[];
  readonly hosts: string[];
}

/**
 * Compiles the servers. Calls go to the first server for the security schemes of the service;
 * credentials may go to the hosts of all servers for these schemes.
 */
export function compileServers(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
): CompiledServers | undefined {
  const servers = readList(context, node, { key: 'servers', max: 50 }).flatMap((entry) => {
    const server = compileServer(context, entry);
    return server === undefined ? [] : [server];
  });
  const [first] = servers;
  if (first === undefined) {
    const givenServers = node.value['servers'];
    if (givenServers === undefined || (Array.isArray(givenServers) && givenServers.length === 0)) {
      const message =
        'Add "servers" with the base URL of the API, such as {url: https://api.example.com}.';
      if (context.options.isDraft === true) {
        context.findings.warn('needs_base_url', node.path, message);
        return { server: null, hosts: [] };
      }
      context.findings.error('required_field_missing', node.path, message);
    }
    return undefined;
  }
  const fixedUrls = servers.flatMap(({ url }) => {
    const parsedUrl = new URL(url.replaceAll(serverPlaceholder, 'x'));
    return hasFixedHost(url) ? [parsedUrl] : [];
  });
  const hosts = [...new Set(fixedUrls.map(hostOf))];
  const isPlain = servers.every(
    ({ schemes, variables }) =>
      schemes === undefined && variables.every(({ account }) => account === undefined),
  );
  const server = toEarlierForm(first);
  return isPlain ? { server, hosts } : { server, servers, hosts };
}

/**
 * The server as components of an earlier release read it. They do not know where the value of a
 * variable of the account comes from, so they must accept no value.
 */
function toEarlierForm({ schemes: _schemes, variables, ...server }: Server): Server {
  return {
    ...server,
    variables: variables.map(({ account, ...variable }) =>
      account === undefined ? variable : { ...variable, enum: [] },
    ),
  };
}

function compileServer(context: CompileContext, node: DocumentNode): Server | undefined {
  const { findings } = context;
  if (!isObject(node.value)) {
    findings.error('wrong_type', node.path, 'A server must be an object with a "url".');
    return undefined;
  }
  const serverNode = { value: node.value, path: node.path };
  checkFields(context, serverNode, 'server');
  const url = readText(context, serverNode, { key: 'url', max: 2000, required: true });
  const baseUrlAllowed = readFlag(context, serverNode, 'x-service-base-url-allowed') ?? false;
  const variables = compileVariables(context, serverNode, url ?? '');
  if (url === undefined || variables === undefined) return undefined;
  const path = [...node.path, 'url'];
  if (!checkPlaceholders(context, { value: url, path }, variables)) return undefined;

  const parsedUrl = parseBaseUrl(
    url.replaceAll(serverPlaceholder, 'x'),
    context.options.isPlainHttpAllowed,
  );
  if (typeof parsedUrl === 'string') {
    findings.error(
      url.startsWith('http://') ? 'server_not_https' : 'server_invalid',
      path,
      parsedUrl,
    );
    return undefined;
  }
  return {
    url: variables.length > 0 ? withoutSlash(url) : baseOf(parsedUrl),
    variables,
    baseUrlAllowed,
    ...readSchemes(context, serverNode),
  };
}

function readSchemes(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
): Pick<Server, 'schemes'> {
  const key = 'x-service-for';
  if (!(key in node.value)) return {};
  const entries = readList(context, node, { key, max: 20 });
  const schemes = entries.flatMap(({ value }) => (typeof value === 'string' ? [value] : []));
  if (schemes.length > 0 && schemes.length === entries.length) return { schemes };
  const message = 'Name the security schemes that the server is for, as in [token].';
  context.findings.error('wrong_type', [...node.path, key], message);
  return {};
}

function compileVariables(
  context: CompileContext,
  server: DocumentNode<JsonObject>,
  url: string,
): ServerVariable[] | undefined {
  const declaredVariables = readObject(context, server, 'variables');
  if (declaredVariables === undefined) return 'variables' in server.value ? undefined : [];
  return entryNodesOf(declaredVariables).map(([name, at]) => {
    checkFields(context, at, 'server variable');
    const value = isObject(at.value) ? at.value : {};
    const variableNode = { value, path: at.path };
    const place = placeOf(url, name);
    const writtenDefault = readText(context, variableNode, { key: 'default', max: 128 });
    // OpenAPI wants every variable to have a default. An empty one says that there is none.
    const defaultValue = writtenDefault === '' ? null : (writtenDefault ?? null);
    const listedValues = readList(context, variableNode, { key: 'enum', max: 200 });
    const allowed = listedValues.flatMap(({ value: item }) =>
      typeof item === 'string' ? [item] : [],
    );
    const values = [...(defaultValue === null ? [] : [defaultValue]), ...allowed];
    const areFit = values.every((each) => isServerValue(each, place));
    if (allowed.length < listedValues.length || !areFit) {
      const message =
        place === 'path'
          ? 'Values become a segment of the path. Use letters, digits, "_", "~", "-" and, except at the start, ".".'
          : 'Values become part of a host name. Use letters, digits and "-" only.';
      context.findings.error('server_variable', at.path, message);
    }
    const account = readAccountLookUp(context, variableNode, place);
    if (account !== undefined && Object.keys(declaredVariables.value).length > 1) {
      const message = 'A variable whose value the account has must be the only one of its server.';
      context.findings.error('server_variable', at.path, message);
    }
    return {
      ...(account && { account }),
      name,
      description: readText(context, variableNode, { key: 'description', max: 1000 }) ?? '',
      default: defaultValue,
      enum: allowed.length > 0 ? allowed : null,
    };
  });
}
