import { serverPathOf, serverPlaceholder } from '#contracts/server-variables';
import type { CompileContext, DocumentNode, JsonObject } from '../../document/domain/context.ts';
import { readList } from '../../document/domain/reading.ts';
import { baseOf, parseBaseUrl, withoutSlash } from './base-url.ts';
import { hasFixedHost } from './placeholders.ts';

const key = 'x-service-also-at';
const rootsMax = 10;
const placeholderSegment = /^\{[^{}]+\}$/;

/**
 * Compiles `also_at`: further base URLs under which the API can be called, for deny rules alone
 * (docs/reference/templates.md#other-addresses-of-an-api). `{name}` stands for any one segment of
 * the path; the host has no variables.
 */
export function compileAlsoAt(context: CompileContext, node: DocumentNode<JsonObject>): string[] {
  const roots = readList(context, node, { key, max: rootsMax }).flatMap((entry) => {
    const root = compileRoot(context, entry);
    return root === undefined ? [] : [root];
  });
  return [...new Set(roots)];
}

function compileRoot(
  { findings, options }: CompileContext,
  { value, path }: DocumentNode,
): string | undefined {
  if (typeof value !== 'string' || value.length > 2000) {
    const message = 'Write a base URL here, such as https://api.example.com/v1.';
    findings.error('wrong_type', path, message);
    return undefined;
  }
  const problem = problemWithPlaceholders(value);
  if (problem !== undefined) {
    findings.error('server_variable', path, problem);
    return undefined;
  }
  const url = parseBaseUrl(value.replaceAll(serverPlaceholder, 'x'), options.isPlainHttpAllowed);
  if (typeof url === 'string') {
    findings.error(value.startsWith('http://') ? 'server_not_https' : 'server_invalid', path, url);
    return undefined;
  }
  return /[{}]/.test(value) ? withoutSlash(value) : baseOf(url);
}

function problemWithPlaceholders(url: string): string | undefined {
  if (!hasFixedHost(url)) {
    return 'Write the host out, without {variables}: only segments of the path may vary here.';
  }
  const inPath = serverPathOf(url)
    .split('/')
    .filter((segment) => /[{}]/.test(segment));
  return inPath.every((segment) => placeholderSegment.test(segment))
    ? undefined
    : 'A {variable} must be a whole segment of the path, as in https://api.example.com/{site}/v1.';
}
