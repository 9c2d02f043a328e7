import { isPathVariable, isServerValue, serverPlaceholder } from '#contracts/server-variables';
import type { TemplateServer } from '#contracts/template-server';
import { hostIn } from './servers.ts';

const urlPatterns = new WeakMap<TemplateServer, RegExp>();

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
  let pattern = urlPatterns.get(server);
  if (pattern === undefined) urlPatterns.set(server, (pattern = compileUrlPattern(server)));
  const values = pattern.exec(baseUrl)?.slice(1);
  const variableNames = [...server.url.matchAll(serverPlaceholder)].map(([, name = '']) => name);
  return (
    values?.every((value, index) => isValueOf(server, variableNames[index] ?? '', value)) ?? false
  );
}

function isValueOf({ url, variables }: TemplateServer, name: string, value: string): boolean {
  const place = isPathVariable(url, name) ? 'path' : 'host';
  if (!isServerValue(value, place)) return false;
  const values = variables.find((each) => each.name === name)?.enum ?? null;
  if (values === null) return true;
  // Letter case counts in a path. A host has none: base URLs write it in lower case.
  return place === 'path'
    ? values.includes(value)
    : values.some((each) => each.toLowerCase() === value);
}

/**
 * A pattern for the template's URL. The URL is normalised like a service's base URL, with a
 * placeholder for each variable.
 */
function compileUrlPattern({ url }: TemplateServer): RegExp {
  const standInText = findUnusedText(url);
  const text = normaliseBaseUrl(url.replaceAll(serverPlaceholder, standInText)) ?? '';
  const literals = text.split(standInText).map((literal) => RegExp.escape(literal));
  const placeholders = [...url.matchAll(serverPlaceholder)].map(([, name = '']) =>
    isPathVariable(url, name) ? '([^/]+)' : '([a-z0-9-]+)',
  );
  const parts = literals.map((literal, index) => literal + (placeholders[index] ?? ''));
  return new RegExp(`^${parts.join('')}$`);
}

/** A text to put in place of variables. It does not occur elsewhere in the URL. */
function findUnusedText(url: string): string {
  let unusedWord = 'x';
  while (url.toLowerCase().includes(unusedWord)) unusedWord += 'x';
  return unusedWord;
}
