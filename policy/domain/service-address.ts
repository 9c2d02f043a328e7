import type { CompiledTemplate } from '#contracts/template';
import { hostOf } from './hosts.ts';

type Server = CompiledTemplate['server'];

/** One DNS label in lower case, which a variable of a server stands for. */
const label = '([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)';
const patterns = new WeakMap<NonNullable<Server>, RegExp>();

/** A base URL as services have it; undefined for what is none. */
export function normaliseBaseUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || url.hostname === '') return undefined;
  return `${url.protocol}//${hostOf(url)}${url.pathname}`.replace(/\/+$/, '');
}

/** Whether the template itself puts a service there, whatever its variables are filled in with. */
export function isServedAt(server: Server, baseUrl: string): boolean {
  if (server === null) return false;
  if (server.variables.length === 0) return baseUrl === server.url;
  let pattern = patterns.get(server);
  if (pattern === undefined) patterns.set(server, (pattern = patternOf(server)));
  const values = pattern.exec(baseUrl)?.slice(1);
  const names = [...server.url.matchAll(placeholder)].map(([, name]) => name);
  return (
    values?.every((value, at) => {
      const allowed = server.variables.find(({ name }) => name === names[at])?.enum ?? null;
      return allowed === null || allowed.some((each) => each.toLowerCase() === value);
    }) ?? false
  );
}

const placeholder = /\{([^{}]*)\}/g;

/** The URL is normalised with something in place of the variables, as that of a service was. */
function patternOf({ url }: NonNullable<Server>): RegExp {
  const stand = standIn(url);
  const text = normaliseBaseUrl(url.replaceAll(placeholder, stand)) ?? '';
  const literals = text.split(stand).map((literal) => RegExp.escape(literal));
  return new RegExp(`^${literals.join(label)}$`);
}

/** A word that the URL does not hold. */
function standIn(url: string): string {
  let word = 'x';
  while (url.toLowerCase().includes(word)) word += 'x';
  return word;
}
