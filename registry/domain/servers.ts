import type { CompiledTemplate } from '#contracts/template';
import { AppError } from '#errors';
import { isObject } from './context.ts';
import type { Context, JsonObject, Place } from './context.ts';
import { checkFields } from './fields.ts';
import { hostOf } from './hosts.ts';
import { entriesOf, readFlag, readList, readObject, readText } from './reading.ts';

export type Server = NonNullable<CompiledTemplate['server']>;
type Variable = Server['variables'][number];

/** One DNS label (RFC 1035 §2.3.1, and digits first as RFC 1123 allows). */
const label = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
const placeholder = /\{([^{}]*)\}/g;

/** The first server is where calls go; the hosts of all of them bind the service. */
export function compileServers(
  context: Context,
  at: Place<JsonObject>,
): { server: Server | null; hosts: string[] } | undefined {
  const servers = readList(context, at, { key: 'servers', max: 50 }).flatMap((entry) => {
    const server = compileServer(context, entry);
    return server === undefined ? [] : [server];
  });
  const [first] = servers;
  if (first === undefined) {
    const given = at.value['servers'];
    if (given === undefined || (Array.isArray(given) && given.length === 0)) {
      const message =
        'Add "servers" with the base URL of the API, such as {url: https://api.example.com}.';
      if (context.options.isDraft === true) {
        context.findings.warn('needs_base_url', at.path, message);
        return { server: null, hosts: [] };
      }
      context.findings.error('required_field_missing', at.path, message);
    }
    return undefined;
  }
  const fixed = servers.filter((server) => server.variables.length === 0);
  const hosts = [...new Set(fixed.map((server) => hostOf(new URL(server.url))))];
  return { server: first, hosts };
}

function compileServer(context: Context, at: Place): Server | undefined {
  const { findings } = context;
  if (!isObject(at.value)) {
    findings.error('wrong_type', at.path, 'A server must be an object with a "url".');
    return undefined;
  }
  const place = { value: at.value, path: at.path };
  checkFields(context, place, 'server');
  const url = readText(context, place, { key: 'url', max: 2000, required: true });
  const baseUrlAllowed = readFlag(context, place, 'x-service-base-url-allowed') ?? false;
  const variables = compileVariables(context, place);
  if (url === undefined || variables === undefined) return undefined;
  const path = [...at.path, 'url'];
  if (!checkPlaceholders(context, { value: url, path }, variables)) return undefined;

  const parsed = parseBaseUrl(url.replace(placeholder, 'x'), context.options.isPlainHttpAllowed);
  if (typeof parsed === 'string') {
    findings.error(url.startsWith('http://') ? 'server_not_https' : 'server_invalid', path, parsed);
    return undefined;
  }
  return {
    url: variables.length > 0 ? withoutSlash(url) : baseOf(parsed),
    variables,
    baseUrlAllowed,
  };
}

function compileVariables(context: Context, server: Place<JsonObject>): Variable[] | undefined {
  const declared = readObject(context, server, 'variables');
  if (declared === undefined) return 'variables' in server.value ? undefined : [];
  return entriesOf(declared).map(([name, at]) => {
    checkFields(context, at, 'server variable');
    const value = isObject(at.value) ? at.value : {};
    const place = { value, path: at.path };
    const fallback = readText(context, place, { key: 'default', max: 63 }) ?? null;
    const listed = readList(context, place, { key: 'enum', max: 200 });
    const allowed = listed.flatMap(({ value: item }) => (typeof item === 'string' ? [item] : []));
    const labels = [...(fallback === null ? [] : [fallback]), ...allowed];
    if (allowed.length < listed.length || !labels.every((each) => label.test(each))) {
      const message = 'Values become part of a host name. Use letters, digits and "-" only.';
      context.findings.error('server_variable', at.path, message);
    }
    return {
      name,
      description: readText(context, place, { key: 'description', max: 1000 }) ?? '',
      default: fallback,
      enum: allowed.length > 0 ? allowed : null,
    };
  });
}

/** Variables may stand for labels of the host, and at least two labels after them must be fixed. */
function checkPlaceholders(context: Context, url: Place<string>, variables: Variable[]): boolean {
  const used = [...url.value.matchAll(placeholder)].map((match) => match[1] ?? '');
  const declared = variables.map((variable) => variable.name);
  const problem =
    problemWithNames(used, declared) ??
    (used.length > 0 &&
    !/^https?:\/\/[^/]*\}[^/{}]*\.[A-Za-z0-9-]+\.[A-Za-z0-9-]+(?:[:/][^{}]*)?$/.test(url.value)
      ? 'Variables may only stand for the first labels of the host, as in https://{site}.example.com.'
      : undefined);
  if (problem === undefined) return true;
  context.findings.error('server_variable', url.path, problem);
  return false;
}

function problemWithNames(used: string[], declared: string[]): string | undefined {
  const undeclared = used.find((name) => !declared.includes(name));
  if (undeclared !== undefined) return `Declare {${undeclared}} under "variables" of this server.`;
  const unused = declared.find((name) => !used.includes(name));
  return unused === undefined
    ? undefined
    : `The variable "${unused}" is not used in the URL. Remove it.`;
}

export interface ServerChoice {
  readonly variables: Readonly<Record<string, string>>;
  /** A self-hosted product's own address; the caller has checked who may give one. */
  readonly baseUrl?: string | undefined;
  readonly isPlainHttpAllowed?: (host: string) => boolean;
}

/**
 * The base URL of one connected service, and its host as it stands in keys.
 *
 * Variables can only fill single labels: the URL is built, parsed again, and
 * must still have exactly the host that was meant.
 */
export function resolveServer(
  server: Server,
  { variables, baseUrl, isPlainHttpAllowed }: ServerChoice,
): { baseUrl: string; host: string } {
  const address = baseUrl ?? fillIn(server, variables);
  const parsed = parseBaseUrl(address, isPlainHttpAllowed);
  if (typeof parsed === 'string')
    throw invalid(baseUrl === undefined ? 'variables' : 'base_url', parsed);
  // Names below it never resolve (RFC 6761 §6.4): the template of something that everybody hosts.
  if (parsed.hostname.endsWith('.invalid')) {
    throw invalid('base_url', 'Everybody hosts this themselves. Give the base_url of yours.');
  }
  const meant = /^https?:\/\/([^/:]*)/.exec(address)?.[1]?.toLowerCase();
  const isFilledIn = baseUrl === undefined && server.variables.length > 0;
  if (isFilledIn && parsed.hostname !== meant) {
    throw invalid('variables', 'The variables do not form a host name. Correct them.');
  }
  return { baseUrl: baseOf(parsed), host: hostOf(parsed) };
}

function fillIn(server: Server, given: Readonly<Record<string, string>>): string {
  const declared = server.variables.map((variable) => variable.name);
  const unknown = Object.keys(given).find((name) => !declared.includes(name));
  if (unknown !== undefined) {
    const known = declared.length > 0 ? `Known: ${declared.join(', ')}.` : 'It has none.';
    throw invalid(`variables.${unknown}`, `The service has no variable "${unknown}". ${known}`);
  }
  return server.variables.reduce((url, variable) => {
    const value = Object.hasOwn(given, variable.name) ? given[variable.name] : variable.default;
    if (value === null || value === undefined) {
      const what = variable.description === '' ? '' : `: ${variable.description}`;
      throw invalid(`variables.${variable.name}`, `Give the variable "${variable.name}"${what}.`);
    }
    if (!label.test(value) || (variable.enum && !variable.enum.includes(value))) {
      const expected = variable.enum
        ? `must be one of ${variable.enum.join(', ')}`
        : 'may hold letters, digits and "-" only, at most 63';
      const message = `The variable "${variable.name}" ${expected}.`;
      throw invalid(`variables.${variable.name}`, message);
    }
    return url.replaceAll(`{${variable.name}}`, value);
  }, server.url);
}

function invalid(path: string, message: string): AppError {
  return new AppError('invalid_params', message, { details: { issues: [{ path, message }] } });
}

/** The URL, or a sentence that says what is wrong with it. */
export function parseBaseUrl(
  text: string,
  isPlainHttpAllowed?: (host: string) => boolean,
): URL | string {
  const url =
    URL.canParse(text) && /^[\x21-\x7e\u0080-\uffff]+$/.test(text) && !text.includes('\\')
      ? new URL(text)
      : undefined;
  if (url === undefined || !/^https?:\/\/[^/?#@]/i.test(text)) {
    return 'Give an absolute URL such as https://api.example.com/v1.';
  }
  if (url.username || url.password || text.includes('@'))
    return 'Leave user and password out of the URL.';
  if (/^\.|\.\./.test(url.hostname)) return 'Write the host of the URL without empty labels.';
  if (url.search || url.hash || /[?#]/.test(text))
    return 'Leave query and fragment out of the URL.';
  if (/\/\.\.?(?:\/|$)|%|\/\/./i.test(text.replace(/^https?:\/\//i, ''))) {
    return 'Write the path of the URL without dot segments, empty segments and percent signs.';
  }
  if (url.protocol === 'http:' && isPlainHttpAllowed?.(hostOf(url)) !== true) {
    return 'Use https. Plain http reaches only hosts the operator has allowed.';
  }
  return url;
}

function baseOf(url: URL): string {
  return withoutSlash(`${url.protocol}//${hostOf(url)}${url.pathname}`);
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
