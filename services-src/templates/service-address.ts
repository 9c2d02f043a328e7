import { isPathVariable, isServerValue, serverPlaceholder } from '#contracts/server-variables';
import type { TemplateServer } from '#contracts/template-server';
import { hostIn } from './servers.ts';

const knownLiterals = new WeakMap<TemplateServer, readonly string[]>();

/**
 * Normalises a base URL to the form in which services store it; undefined for text that is not a
 * base URL.
 */
export function normaliseBaseUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || url.hostname === '') return undefined;
  return `${url.protocol}//${hostIn(url.href)}${url.pathname}`.replace(/\/+$/, '');
}

/** Whether this base URL is the URL of the template's server, with any values of its variables. */
export function isServedAt(server: TemplateServer, baseUrl: string): boolean {
  if (server.variables.length === 0) return baseUrl === server.url;
  let literals = knownLiterals.get(server);
  if (literals === undefined) knownLiterals.set(server, (literals = literalsOf(server)));
  const values = valuesBetween(literals, baseUrl);
  const variableNames = [...server.url.matchAll(serverPlaceholder)].map(([, name = '']) => name);
  return (
    values?.every((value, index) => isValueOf(server, variableNames[index] ?? '', value)) ?? false
  );
}

function isValueOf({ url, variables }: TemplateServer, name: string, value: string): boolean {
  const place = isPathVariable(url, name) ? 'path' : 'host';
  if (!isServerValue(value, place)) return false;
  if (place === 'host' && value !== value.toLowerCase()) return false;
  const values = variables.find((each) => each.name === name)?.enum ?? null;
  if (values === null) return true;
  // Letter case counts in a path. A host has none: base URLs write it in lower case.
  return place === 'path'
    ? values.includes(value)
    : values.some((each) => each.toLowerCase() === value);
}

/** The texts around the variables of the template's URL, normalised like a service's base URL. */
function literalsOf({ url }: TemplateServer): readonly string[] {
  const standInText = findUnusedText(url);
  const text = normaliseBaseUrl(url.replaceAll(serverPlaceholder, standInText)) ?? '';
  return text.split(standInText);
}

/**
 * The texts between these literals; undefined when a literal is missing. If there are several ways
 * to split the text, returns the way with the longest first values. Values of variables have no
 * dots in a host and no slashes, so several ways exist only within one label
 * (`{app}-{stage}.example.com`).
 */
function valuesBetween(literals: readonly string[], text: string): string[] | undefined {
  const [head = '', ...others] = literals;
  const values: string[] = [];
  let end = text.length;
  for (const [index, literal] of others.toReversed().entries()) {
    const latest = end - literal.length - Math.min(index, 1);
    const at = index === 0 ? latest : text.lastIndexOf(literal, latest);
    if (at < head.length || !text.startsWith(literal, at)) return undefined;
    if (index > 0) values.unshift(text.slice(at + literal.length, end));
    end = at;
  }
  return text.startsWith(head) ? [text.slice(head.length, end), ...values] : undefined;
}

/** A text to put in place of variables. It does not occur elsewhere in the URL. */
function findUnusedText(url: string): string {
  let unusedWord = 'x';
  while (url.toLowerCase().includes(unusedWord)) unusedWord += 'x';
  return unusedWord;
}
