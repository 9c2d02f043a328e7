import { segmentCountMax } from '#templates';
import type { CompileContext, DocumentNode } from '../../document/domain/context.ts';
import type { DeclaredParam } from './parameters.ts';
import { placeholdersOf } from './resolve-block.ts';

/**
 * Matches the path characters of RFC 3986 §3.3 (`pchar`) without percent signs, because the
 * executor encodes the path.
 */
const literalPath = /^(?:\/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+\/?$|^\/$/;

/**
 * Reports a path template that is malformed or too long, or has a placeholder twice. Returns
 * whether the path template is valid.
 */
export function checkPath(
  context: CompileContext,
  { value: template, path }: DocumentNode<string>,
): boolean {
  const { findings } = context;
  const placeholderNames = placeholdersOf(template);
  const pathWithoutPlaceholders = template.replaceAll(/\{[^{}]+\}/g, 'x');
  if (
    template.length > 2000 ||
    !literalPath.test(pathWithoutPlaceholders) ||
    /\/\.\.?(?:\/|$)/.test(template)
  ) {
    const message =
      'A path starts with "/" and has no query, no empty or dot segments and no percent signs; parameters stand in braces.';
    findings.error('path_invalid', path, message);
    return false;
  }
  if (template.split('/').length - 1 > segmentCountMax) {
    const message = `A path has at most ${segmentCountMax} segments. Shorten it, or leave the operation out.`;
    findings.error('path_invalid', path, message);
    return false;
  }
  const repeatedName = placeholderNames.find(
    (name, index) => placeholderNames.indexOf(name) !== index,
  );
  if (repeatedName === undefined) return true;
  findings.error(
    'path_invalid',
    path,
    `{${repeatedName}} appears twice in the path. Give each place its own parameter.`,
  );
  return false;
}

/** Checks that each placeholder has a declared parameter, and each path parameter a placeholder. */
export function checkPathParams(
  { findings }: CompileContext,
  { value: template, path }: DocumentNode<string>,
  params: readonly DeclaredParam[],
): void {
  const placeholderNames = placeholdersOf(template);
  const pathParams = params.filter((param) => param.in === 'path');
  for (const name of placeholderNames) {
    if (pathParams.some((param) => param.name === name)) continue;
    const message = `Declare {${name}} under "parameters", with in: path and required: true.`;
    findings.error('path_param_undeclared', path, message);
  }
  for (const param of pathParams) {
    if (placeholderNames.includes(param.name)) continue;
    const message = `The path has no {${param.name}}. Add it there, or remove the parameter.`;
    findings.error('path_param_unused', param.at.path, message);
  }
}
