import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../../document/domain/context.ts';
import type { JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { actionServersMax } from '../../servers/domain/action-server.ts';
import { createNotes } from './notes.ts';
import { isUnsafeName, objectAt, shortenText, textAt } from './source.ts';
import type { ImportSource } from './source.ts';

const serversMax = 20;
const labelPattern = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
const placeholder = /\{([^{}]*)\}/g;
/** Matches a URL whose variables are labels of the host, followed by at least two fixed labels. */
const hostWithVariables = /^https:\/\/[^/]*\}[^/{}]*\.[A-Za-z0-9-]+\.[A-Za-z0-9-]+(?:[:/][^{}]*)?$/;

/** Where relative server URLs lead. */
export interface ServerBases {
  /** The URL of the document (OpenAPI §4.8.5). */
  readonly sourceUrl?: string | null | undefined;
  /** The base URL that the importing person gave; it takes the place of the document's servers. */
  readonly baseUrl?: string | null | undefined;
}

/**
 * Converts `servers`. A template may only have servers with absolute https URLs, and variables only
 * as labels of the host. A server whose whole host is a variable names no host. It becomes a
 * placeholder, and only if the document names no other server.
 */
export function convertServers(
  source: ImportSource,
  { value: servers, path }: DocumentNode,
  bases: ServerBases,
): JsonObject[] {
  const givenServers = Array.isArray(servers) ? servers.slice(0, serversMax) : [];
  const base = bases.baseUrl ?? bases.sourceUrl ?? undefined;
  // Without servers, a document means the root of the host where it is (OpenAPI §4.8.1).
  const statedServers =
    givenServers.length === 0 && base !== undefined ? [{ url: '/' }] : givenServers;
  const convertedServers = statedServers.flatMap((value, index) => {
    const server = convertServer(source, { value, path: [...path, index] }, base);
    return server === undefined ? [] : [server];
  });
  const fixedServers = convertedServers.filter((server) => !isPlaceholder(server));
  const keptServers = fixedServers.length > 0 ? fixedServers : convertedServers.slice(0, 1);
  const serversByUrl = new Map<string, JsonObject>();
  for (const server of keptServers) {
    const url = textAt(server, 'url') ?? '';
    if (!serversByUrl.has(url)) serversByUrl.set(url, server);
  }
  if (serversByUrl.size === 0) {
    const message = `The document names no absolute base URL. ${giveBaseUrl}`;
    source.notes.warn('needs_base_url', path, message);
  }
  return [...serversByUrl.values()];
}

const giveBaseUrl = 'Import it again with "base_url", or add one to "servers" before publishing.';
/** A host that never resolves (RFC 6761 §6.4), for services that everybody has at another host. */
const placeholderOrigin = 'https://self-hosted.invalid';

function isPlaceholder(server: JsonObject): boolean {
  return textAt(server, 'url')?.startsWith(placeholderOrigin) === true;
}

function convertServer(
  source: ImportSource,
  node: DocumentNode,
  base: string | undefined,
): JsonObject | undefined {
  if (!isObject(node.value)) return undefined;
  const text = (textAt(node.value, 'url') ?? '').trim().replace(/^\/\//, 'https://');
  const variables = objectAt(node.value, 'variables');
  const description = textAt(node.value, 'description') ?? '';
  const server =
    convertServerWithVariables(toHttpsText(text), variables) ??
    (hasOpenHost(text, variables)
      ? toPlaceholder(source, node, { text, variables })
      : convertFixedServer(source, node, { text, variables, base }));
  if (server === undefined) {
    const message = `"${shortenText(text, 200)}" is no absolute base URL, so calls would not know where to go. ${giveBaseUrl}`;
    source.notes.warn('needs_base_url', node.path, message);
    return undefined;
  }
  const descriptionField = description === '' ? {} : { description: shortenText(description, 500) };
  return { ...server, ...descriptionField };
}

/**
 * Whether variables form the host in another way than as labels of it: `https://{domain}`,
 * `{server}/v1`.
 */
function hasOpenHost(text: string, variables: JsonObject): boolean {
  const authority = /^(?:[a-z]+|\{[^{}]*\}):\/\/([^/]*)/i.exec(text)?.[1];
  if (authority !== undefined) return /[{}]/.test(authority.replace(/:\{[^{}]*\}$/, ''));
  return text.startsWith('{') && !fillInDefaults(text, variables).startsWith('/');
}

/** A placeholder for the server that each user operates. Only its path is used. */
function toPlaceholder(
  source: ImportSource,
  node: DocumentNode,
  { text, variables }: { text: string; variables: JsonObject },
): JsonObject {
  const path = fillInDefaults(/^[^/]*\/\/[^/]*(\/.*)$/.exec(text)?.[1] ?? '', variables);
  const quietSource = { ...source, notes: createNotes() };
  const url = toHttps(quietSource, node, URL.parse(placeholderOrigin + path)) ?? placeholderOrigin;
  const message = `The host of "${shortenText(text, 200)}" is a variable, and its default may be an example, so no credential goes there. ${giveBaseUrl} Or an admin gives it when connecting.`;
  source.notes.warn('needs_base_url', node.path, message);
  return { url, 'x-service-base-url-allowed': true };
}

function convertFixedServer(
  source: ImportSource,
  node: DocumentNode,
  { text, variables, base }: { text: string; variables: JsonObject; base: string | undefined },
): JsonObject | undefined {
  const filledText = fillInDefaults(text, variables);
  const isRelative = !/^https?:\/\//i.test(filledText);
  const parsedUrl = parseAbsoluteUrl(filledText, base, text === '');
  const url = toHttps(source, node, parsedUrl);
  if (url !== undefined && (isRelative || /[{}]/.test(text))) {
    const message = isRelative
      ? `The document names no absolute base URL. "${shortenText(text, 200)}" was read as ${url}, from where the document is. If the API is elsewhere: ${giveBaseUrl}`
      : `An import keeps variables as labels of a host only; the defaults were filled in: ${url}.`;
    source.notes.warn('server_changed', node.path, message);
  }
  return url === undefined ? undefined : { url };
}

/** Replaces each variable of the URL by its default; empty when a variable has no default. */
function fillInDefaults(url: string, variables: JsonObject): string {
  let isComplete = true;
  const text = url.replaceAll(placeholder, (_, name: string) => {
    const { default: defaultValue, enum: choices } = objectAt(variables, name);
    const value = defaultValue ?? (Array.isArray(choices) ? choices[0] : undefined);
    if (value === undefined || toText(value) === '') isComplete = false;
    return toText(value ?? '');
  });
  return isComplete && !/[{}]/.test(text) ? text : '';
}

/** Undefined for a relative URL without a base, and for a host without a scheme. */
function parseAbsoluteUrl(
  text: string,
  base: string | undefined,
  isEmpty: boolean,
): URL | undefined {
  if (/^https?:\/\//i.test(text)) return URL.parse(text) ?? undefined;
  if (base === undefined || (text === '' && !isEmpty)) return undefined;
  if (/^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?:[:/]|$)/i.test(text)) return undefined;
  return URL.parse(text === '' ? '/' : text, base) ?? undefined;
}

function toHttps(
  source: ImportSource,
  node: DocumentNode,
  url: URL | null | undefined,
): string | undefined {
  if (url === undefined || url === null || !/^https?:$/.test(url.protocol) || url.username !== '')
    return undefined;
  if (url.protocol === 'http:') {
    const message =
      'The document names http; the template says https, which the service may not offer.';
    source.notes.warn('server_changed', node.path, message);
  }
  const path = url.pathname.replaceAll(/\/{2,}/g, '/').replace(/\/+$/, '');
  if (/%|\/\.\.?(?:\/|$)/.test(path) || url.hostname === '') return undefined;
  const port =
    url.port === '' || (url.protocol === 'http:' && url.port === '80') ? '' : `:${url.port}`;
  return `https://${url.hostname}${port}${path}`;
}

function toHttpsText(url: string): string {
  return url.replace(/^(?:http|\{[^{}]*\}):\/\//i, 'https://').replace(/\/+$/, '');
}

/** The server with its variables; undefined when a variable is not a label of the host. */
function convertServerWithVariables(
  url: string,
  givenVariables: JsonObject,
): JsonObject | undefined {
  const variableNames = [...new Set([...url.matchAll(placeholder)].map((match) => match[1] ?? ''))];
  if (variableNames.length === 0 || variableNames.length > 20 || !hostWithVariables.test(url))
    return undefined;
  if (!/^https:\/\/[\x21-\x7e]+$/.test(url) || /[?#@%\\]/.test(url) || url.length > 2000)
    return undefined;
  if (!URL.canParse(url.replaceAll(placeholder, 'x'))) return undefined;
  const variables = variableNames.map(
    (name) => [name, convertVariable(objectAt(givenVariables, name))] as const,
  );
  if (variableNames.some((name) => isUnsafeName(name) || !/^[^\s.]{1,100}$/.test(name)))
    return undefined;
  if (variables.some(([, variable]) => variable === undefined)) return undefined;
  return { url, variables: Object.fromEntries(variables as [string, JsonObject][]) };
}

function convertVariable(variable: JsonObject): JsonObject | undefined {
  const { default: defaultValue, enum: choices, description } = variable;
  const values = Array.isArray(choices) ? choices.map(toText) : [];
  // Some documents give `{name}` as the default, which means that there is none.
  const initial = [toText(defaultValue ?? '')].filter((text) => text !== '' && !/[{}]/.test(text));
  const all = [...values, ...initial];
  if (!all.every((value) => labelPattern.test(value)) || values.length > 200) return undefined;
  return {
    ...(initial[0] !== undefined && { default: initial[0] }),
    ...(values.length > 0 && { enum: values }),
    ...(typeof description === 'string' && { description: shortenText(description, 1000) }),
  };
}

function toText(value: JsonValue): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

export interface ServerChoice {
  readonly list: JsonObject[];
  /**
   * The server of an operation; null when the operation uses the chosen servers. Undefined when a
   * template cannot have this server, or cannot have another one.
   */
  ownServerOf(operation: ServersOwner): JsonObject | null | undefined;
}

interface ServersOwner {
  readonly pathItem: DocumentNode<JsonObject>;
  readonly operation: DocumentNode<JsonObject>;
}

/**
 * Chooses the servers of the template: those of the document, or, when only operations state
 * servers, those that most operations state.
 */
export function chooseServers(
  source: ImportSource,
  operations: readonly ServersOwner[],
  bases: ServerBases,
): ServerChoice {
  const ownServers = source.document['servers'];
  const hasOwnServers = Array.isArray(ownServers) && ownServers.length > 0;
  const countsByServers = new Map<string, { count: number; at: DocumentNode }>();
  for (const operation of hasOwnServers ? [] : operations) {
    const serversNode = serversOf(operation);
    const text = serversNode === undefined ? undefined : JSON.stringify(serversNode.value);
    if (serversNode === undefined || text === undefined) continue;
    countsByServers.set(text, {
      count: (countsByServers.get(text)?.count ?? 0) + 1,
      at: serversNode,
    });
  }
  const mostCommon = [...countsByServers.values()].toSorted((a, b) => b.count - a.count)[0]?.at;
  const serversNode = mostCommon ?? { value: ownServers ?? null, path: ['servers'] };
  const { baseUrl } = bases;
  const isReplaced = baseUrl !== undefined && baseUrl !== null;
  const quietSource = { ...source, notes: createNotes() };
  const stated = convertServers(isReplaced ? quietSource : source, serversNode, bases);
  const list = isReplaced ? [{ url: baseUrl }] : stated;
  // Operations at one of the servers that a given base URL replaces go to that base URL.
  const chosenUrls = (isReplaced ? [...list, ...stated] : list.slice(0, 1)).map(({ url }) => url);
  const ownUrls = new Set<string>();
  return {
    list,
    ownServerOf(operation) {
      const otherServers = serversOf(operation);
      if (
        otherServers === undefined ||
        !Array.isArray(otherServers.value) ||
        otherServers.value.length === 0
      )
        return null;
      const [server] = convertServers(quietSource, otherServers, bases);
      const url = server && textAt(server, 'url');
      if (chosenUrls.includes(url)) return null;
      if (url === undefined || server?.['variables'] !== undefined) return undefined;
      // The document says that everybody has a server of their own.
      if (server?.['x-service-base-url-allowed'] === true) return undefined;
      if (!ownUrls.has(url) && ownUrls.size === actionServersMax) return undefined;
      ownUrls.add(url);
      return { url };
    },
  };
}

/** The servers of an operation; they override the servers of its path (OpenAPI §4.8.10). */
function serversOf({ pathItem, operation }: ServersOwner): DocumentNode | undefined {
  for (const owner of [operation, pathItem]) {
    const servers = owner.value['servers'];
    if (servers !== undefined) return { value: servers, path: [...owner.path, 'servers'] };
  }
  return undefined;
}
