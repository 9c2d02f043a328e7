import { isPathVariable, serverPathOf, serverPlaceholder } from '#contracts/server-variables';
import type { CompileContext, DocumentNode } from '../../document/domain/context.ts';
import type { ServerVariable } from './server.ts';

/**
 * Checks that each variable stands for first labels of the host that at least two fixed labels
 * follow, or for one whole segment of the path.
 */
export function checkPlaceholders(
  context: CompileContext,
  url: DocumentNode<string>,
  variables: ServerVariable[],
): boolean {
  const usedNames = [...url.value.matchAll(serverPlaceholder)].map((match) => match[1] ?? '');
  const declaredNames = variables.map((variable) => variable.name);
  const problem = problemWithNames(usedNames, declaredNames) ?? problemWithPlaces(url.value);
  if (problem === undefined) return true;
  context.findings.error('server_variable', url.path, problem);
  return false;
}

function problemWithPlaces(url: string): string | undefined {
  const path = serverPathOf(url);
  const origin = url.slice(0, url.length - path.length);
  if (
    !hasFixedHost(url) &&
    !/^https?:\/\/[^/]*\}[^/{}]*\.[A-Za-z0-9-]+\.[A-Za-z0-9-]+(?::[^{}]*)?$/i.test(origin)
  ) {
    return 'Variables of the host may only stand for its first labels, as in https://{site}.example.com.';
  }
  const inPath = path.split('/').filter((segment) => /[{}]/.test(segment));
  if (!inPath.every((segment) => /^\{[^{}]+\}$/.test(segment))) {
    return 'A variable of the path must be a whole segment, as in https://api.example.com/{site}/v1.';
  }
  const isRepeated = inPath.some(
    (segment, at) => inPath.indexOf(segment) !== at || origin.includes(segment),
  );
  return isRepeated ? 'A variable of the path may stand in the URL only once.' : undefined;
}

export function hasFixedHost(url: string): boolean {
  return !/[{}]/.test(url.slice(0, url.length - serverPathOf(url).length));
}

export function placeOf(url: string, name: string): 'host' | 'path' {
  return isPathVariable(url, name) ? 'path' : 'host';
}

function problemWithNames(usedNames: string[], declaredNames: string[]): string | undefined {
  const undeclared = usedNames.find((name) => !declaredNames.includes(name));
  if (undeclared !== undefined) return `Declare {${undeclared}} under "variables" of this server.`;
  const unusedVariable = declaredNames.find((name) => !usedNames.includes(name));
  return unusedVariable === undefined
    ? undefined
    : `The variable "${unusedVariable}" is not used in the URL. Remove it.`;
}
