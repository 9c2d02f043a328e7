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

/**
 * Converts `servers`. A template may only have servers with absolute https URLs, and variables only
 * as labels of the host.
 */
export function convertServers(
  source: ImportSource,
  { value: servers, path }: DocumentNode,
  sourceUrl: string | undefined,
): JsonObject[] {
  const givenServers = Array.isArray(servers) ? servers.slice(0, serversMax) : [];
  const convertedServers = givenServers.flatMap((value, index) => {
    const serverNode = { value, path: [...path, index] };
    const server = convertServer(source, serverNode, sourceUrl);
    return server === undefined ? [] : [server];
  });
  const serversByUrl = new Map<string, JsonObject>();
  for (const server of convertedServers) {
    const url = textAt(server, 'url') ?? '';
    if (!serversByUrl.has(url)) serversByUrl.set(url, server);
  }
  if (serversByUrl.size === 0) {
    const message = 'The document names no absolute base URL. Give one before publishing.';
    source.notes.warn('needs_base_url', path, message);
  }
  return [...serversByUrl.values()];
}

function convertServer(
  source: ImportSource,
  node: DocumentNode,
  sourceUrl: string | undefined,
): JsonObject | undefined {
  if (!isObject(node.value)) return undefined;
  const text = (textAt(node.value, 'url') ?? '').trim().replace(/^\/\//, 'https://');
  const variables = objectAt(node.value, 'variables');
  const serverWithVariables = convertServerWithVariables(toHttpsText(text), variables);
  const urlWithoutVariables =
    serverWithVariables === undefined
      ? fillInDefaults(text, variables)
      : text.replaceAll(placeholder, 'x');
  const absoluteUrlText = toHttps(source, node, parseAbsoluteUrl(urlWithoutVariables, sourceUrl));
  if (absoluteUrlText === undefined) {
    const message = `"${shortenText(text, 200)}" is no absolute base URL, so calls would not know where to go.`;
    source.notes.warn('needs_base_url', node.path, message);
    return undefined;
  }
  const isHostVariable = /^(?:https?|\{[^{}]*\}):\/\/\{[^{}]*\}(?:[:/]|$)/.test(text);
  const server = serverWithVariables ?? { url: absoluteUrlText };
  if (serverWithVariables === undefined && /[{}]/.test(text)) {
    const message = `An import keeps variables as labels of a host only; the defaults were filled in: ${absoluteUrlText}.`;
    source.notes.warn(isHostVariable ? 'needs_base_url' : 'server_changed', node.path, message);
  }
  const description = textAt(node.value, 'description') ?? '';
  return {
    ...server,
    ...(description !== '' && { description: shortenText(description, 500) }),
    ...(isHostVariable && { 'x-service-base-url-allowed': true }),
  };
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

function parseAbsoluteUrl(text: string, sourceUrl: string | undefined): URL | undefined {
  // A relative server URL is relative to the URL of the document (OpenAPI §4.8.5).
  const base = /^https?:\/\//i.test(text) ? undefined : sourceUrl;
  if (text === '' || (base === undefined && !/^https?:\/\//i.test(text))) return undefined;
  return URL.canParse(text, base) ? new URL(text, base) : undefined;
}

function toHttps(
  source: ImportSource,
  node: DocumentNode,
  url: URL | undefined,
): string | undefined {
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '') return undefined;
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
   * The server of an operation that does not go to the chosen ones; null when it goes there. Undefined
   * when a template cannot have its server, or no further one.
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
  sourceUrl: string | undefined,
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
  const list = convertServers(source, serversNode, sourceUrl);
  const chosenUrl = list[0]?.['url'];
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
      const sourceWithoutNotes = { ...source, notes: createNotes() };
      const [server] = convertServers(sourceWithoutNotes, otherServers, sourceUrl);
      const url = server && textAt(server, 'url');
      if (url === chosenUrl) return null;
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
