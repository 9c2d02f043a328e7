/**
 * What the variables of a template's server may be: labels of its host, or whole segments of its
 * path (docs/reference/templates.md#loading).
 */

/** One DNS label (RFC 1035 §2.3.1; RFC 1123 allows a leading digit). */
const label = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
/** One path segment that no server reads in another way: no dot segment, nothing encoded. */
const segment = /^[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,127}$/;

export const serverPlaceholder = /\{([^{}]*)\}/g;

/** The path of a server URL with its placeholders; `URL` would encode their braces. */
export function serverPathOf(url: string): string {
  return url.replace(/^https?:\/\/[^/]*/i, '');
}

/** Whether the variable is a segment of the URL's path, and not a label of its host. */
export function isPathVariable(url: string, name: string): boolean {
  return serverPathOf(url).split('/').includes(`{${name}}`);
}

export function isServerValue(value: string, place: 'host' | 'path'): boolean {
  return (place === 'path' ? segment : label).test(value);
}
