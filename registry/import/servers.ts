import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../domain/context.ts';
import type { JsonObject, Place } from '../domain/context.ts';
import { createNotes } from './notes.ts';
import { isUnsafeName, objectAt, shorten, textAt } from './source.ts';
import type { Source } from './source.ts';

const serversMax = 20;
const label = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
const placeholder = /\{([^{}]*)\}/g;
/** Variables as labels in front of at least two fixed ones. */
const hostWithVariables = /^https:\/\/[^/]*\}[^/{}]*\.[A-Za-z0-9-]+\.[A-Za-z0-9-]+(?:[:/][^{}]*)?$/;

/** `servers` as a template may have them: absolute, https, variables for host labels only. */
export function convertServers(
  source: Source,
  { value: servers, path }: Place,
  sourceUrl: string | undefined,
): JsonObject[] {
  const given = Array.isArray(servers) ? servers.slice(0, serversMax) : [];
  const converted = given.flatMap((value, index) => {
    const place = { value, path: [...path, index] };
    const server = convertServer(source, place, sourceUrl);
    return server === undefined ? [] : [server];
  });
  const byUrl = new Map<string, JsonObject>();
  for (const server of converted) {
    const url = textAt(server, 'url') ?? '';
    if (!byUrl.has(url)) byUrl.set(url, server);
  }
  if (byUrl.size === 0) {
    const message = 'The document names no absolute base URL. Give one before publishing.';
    source.notes.warn('needs_base_url', path, message);
  }
  return [...byUrl.values()];
}

function convertServer(
  source: Source,
  at: Place,
  sourceUrl: string | undefined,
): JsonObject | undefined {
  if (!isObject(at.value)) return undefined;
  const text = (textAt(at.value, 'url') ?? '').trim().replace(/^\/\//, 'https://');
  const variables = objectAt(at.value, 'variables');
  const templated = withVariables(toHttpsText(text), variables);
  const fixed =
    templated === undefined ? filled(text, variables) : text.replaceAll(placeholder, 'x');
  const absolute = toHttps(source, at, absoluteUrl(fixed, sourceUrl));
  if (absolute === undefined) {
    const message = `"${shorten(text, 200)}" is no absolute base URL, so calls would not know where to go.`;
    source.notes.warn('needs_base_url', at.path, message);
    return undefined;
  }
  const isOpenHost = /^(?:https?|\{[^{}]*\}):\/\/\{[^{}]*\}(?:[:/]|$)/.test(text);
  const server = templated ?? { url: absolute };
  if (templated === undefined && /[{}]/.test(text)) {
    const message = `Variables can be labels of a host only; the defaults were filled in: ${absolute}.`;
    source.notes.warn(isOpenHost ? 'needs_base_url' : 'server_changed', at.path, message);
  }
  const description = textAt(at.value, 'description') ?? '';
  return {
    ...server,
    ...(description !== '' && { description: shorten(description, 500) }),
    ...(isOpenHost && { 'x-service-base-url-allowed': true }),
  };
}

/** With the default of every variable; empty when one has none. */
function filled(url: string, variables: JsonObject): string {
  let isComplete = true;
  const text = url.replaceAll(placeholder, (_, name: string) => {
    const { default: fallback, enum: choices } = objectAt(variables, name);
    const value = fallback ?? (Array.isArray(choices) ? choices[0] : undefined);
    if (value === undefined || asText(value) === '') isComplete = false;
    return asText(value ?? '');
  });
  return isComplete && !/[{}]/.test(text) ? text : '';
}

function absoluteUrl(text: string, sourceUrl: string | undefined): URL | undefined {
  // OpenAPI §4.8.5: relative to where the document is.
  const base = /^https?:\/\//i.test(text) ? undefined : sourceUrl;
  if (text === '' || (base === undefined && !/^https?:\/\//i.test(text))) return undefined;
  return URL.canParse(text, base) ? new URL(text, base) : undefined;
}

function toHttps(source: Source, at: Place, url: URL | undefined): string | undefined {
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '') return undefined;
  if (url.protocol === 'http:') {
    const message =
      'The document names http; the template says https, which the service may not offer.';
    source.notes.warn('server_changed', at.path, message);
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

/** The server with its variables kept, where all of them are labels of its host. */
function withVariables(url: string, given: JsonObject): JsonObject | undefined {
  const names = [...new Set([...url.matchAll(placeholder)].map((match) => match[1] ?? ''))];
  if (names.length === 0 || names.length > 20 || !hostWithVariables.test(url)) return undefined;
  if (!/^https:\/\/[\x21-\x7e]+$/.test(url) || /[?#@%\\]/.test(url) || url.length > 2000)
    return undefined;
  if (!URL.canParse(url.replaceAll(placeholder, 'x'))) return undefined;
  const variables = names.map((name) => [name, convertVariable(objectAt(given, name))] as const);
  if (names.some((name) => isUnsafeName(name) || !/^[^\s.]{1,100}$/.test(name))) return undefined;
  if (variables.some(([, variable]) => variable === undefined)) return undefined;
  return { url, variables: Object.fromEntries(variables as [string, JsonObject][]) };
}

function convertVariable(given: JsonObject): JsonObject | undefined {
  const { default: fallback, enum: choices, description } = given;
  const values = Array.isArray(choices) ? choices.map(asText) : [];
  // `{name}`, as some write it, is no value but says that there is none.
  const initial = [asText(fallback ?? '')].filter((text) => text !== '' && !/[{}]/.test(text));
  const all = [...values, ...initial];
  if (!all.every((value) => label.test(value)) || values.length > 200) return undefined;
  return {
    ...(initial[0] !== undefined && { default: initial[0] }),
    ...(values.length > 0 && { enum: values }),
    ...(typeof description === 'string' && { description: shorten(description, 1000) }),
  };
}

function asText(value: JsonValue): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

export interface ServerChoice {
  readonly list: JsonObject[];
  /** Whether an operation goes to the first of them; calls of a template go nowhere else. */
  isCommon(operation: HasServers): boolean;
}

interface HasServers {
  readonly pathItem: Place<JsonObject>;
  readonly operation: Place<JsonObject>;
}

/**
 * The servers of a document. Where it names none itself, those that most of its operations name:
 * some write them there only.
 */
export function chooseServers(
  source: Source,
  operations: readonly HasServers[],
  sourceUrl: string | undefined,
): ServerChoice {
  const own = source.document['servers'];
  const isNamed = Array.isArray(own) && own.length > 0;
  const counts = new Map<string, { count: number; at: Place }>();
  for (const operation of isNamed ? [] : operations) {
    const at = serversOf(operation);
    const text = at === undefined ? undefined : JSON.stringify(at.value);
    if (at === undefined || text === undefined) continue;
    counts.set(text, { count: (counts.get(text)?.count ?? 0) + 1, at });
  }
  const most = [...counts.values()].toSorted((a, b) => b.count - a.count)[0]?.at;
  const at = most ?? { value: own ?? null, path: ['servers'] };
  const list = convertServers(source, at, sourceUrl);
  const first = list[0]?.['url'];
  return {
    list,
    isCommon(operation) {
      const other = serversOf(operation);
      if (other === undefined || !Array.isArray(other.value) || other.value.length === 0)
        return true;
      const silent = { ...source, notes: createNotes() };
      return convertServers(silent, other, sourceUrl)[0]?.['url'] === first;
    },
  };
}

/** OpenAPI §4.8.10: those of the operation, else those of its path. */
function serversOf({ pathItem, operation }: HasServers): Place | undefined {
  for (const owner of [operation, pathItem]) {
    const servers = owner.value['servers'];
    if (servers !== undefined) return { value: servers, path: [...owner.path, 'servers'] };
  }
  return undefined;
}
