import { segmentCountMax } from '#templates';
import type { Context, Place } from './context.ts';
import type { DeclaredParam } from './parameters.ts';
import { placeholdersOf } from './resolve-block.ts';

/** RFC 3986 §3.3 `pchar` without percent signs: a template writes characters, the executor encodes. */
const literalPath = /^(?:\/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+\/?$|^\/$/;

/** Whether a path template can be filled in without changing which resource it means. */
export function checkPath(context: Context, { value: template, path }: Place<string>): boolean {
  const { findings } = context;
  const names = placeholdersOf(template);
  const literal = template.replaceAll(/\{[^{}]+\}/g, 'x');
  if (template.length > 2000 || !literalPath.test(literal) || /\/\.\.?(?:\/|$)/.test(template)) {
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
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return true;
  findings.error(
    'path_invalid',
    path,
    `{${twice}} stands twice in the path. Give each place its own parameter.`,
  );
  return false;
}

/** Every placeholder is declared, and every path parameter has its place. */
export function checkPathParams(
  { findings }: Context,
  { value: template, path }: Place<string>,
  params: readonly DeclaredParam[],
): void {
  const names = placeholdersOf(template);
  const declared = params.filter((param) => param.in === 'path');
  for (const name of names) {
    if (declared.some((param) => param.name === name)) continue;
    const message = `Declare {${name}} under "parameters", with in: path and required: true.`;
    findings.error('path_param_undeclared', path, message);
  }
  for (const param of declared) {
    if (names.includes(param.name)) continue;
    const message = `The path has no {${param.name}}. Add it there, or remove the parameter.`;
    findings.error('path_param_unused', param.at.path, message);
  }
}
