import type { CompiledParam } from '#contracts/template';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { checkFields } from '../../document/domain/fields.ts';
import { readObject, readText } from '../../document/domain/reading.ts';

const pickPattern = /^[^.\s]+(?:\.[^.\s]+)*$/;

/**
 * Compiles `resolve: {get, pick}`, which says how to look up a readable name for the id in a
 * parameter (docs/writing-templates.md#fields).
 */
export function compileResolve(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
): CompiledParam['resolve'] {
  const block = readObject(context, node, 'x-service-resolve');
  if (block === undefined) return null;
  checkFields(context, block, 'resolve block');
  const getPath = readText(context, block, { key: 'get', max: 1000, required: true });
  const pickedPath = readText(context, block, { key: 'pick', max: 200, required: true });
  if (getPath === undefined || pickedPath === undefined) return null;
  if (!isLookUpPath(getPath)) {
    const message =
      'Give a path of this API that starts with "/", such as /users/{user_id}; no host and no dot segments.';
    context.findings.error('resolve_invalid', [...block.path, 'get'], message);
    return null;
  }
  if (!pickPattern.test(pickedPath)) {
    const message = 'Give a dotted path into the answer, such as user.name or items.0.title.';
    context.findings.error('resolve_invalid', [...block.path, 'pick'], message);
    return null;
  }
  return { get: getPath, pick: pickedPath };
}

/**
 * Checks that each request that finds a readable name for an id uses only parameters of its own
 * operation, because a call has no values for others.
 */
export function checkResolves(
  { findings }: CompileContext,
  params: readonly (CompiledParam & { at: DocumentNode<JsonObject> })[],
): void {
  const paramNames = params.map((param) => param.name);
  for (const { resolve, at } of params) {
    if (resolve === null || !isObject(at.value)) continue;
    const unknownName = placeholdersOf(resolve.get).find((name) => !paramNames.includes(name));
    if (unknownName === undefined) continue;
    const path = [...at.path, 'x-service-resolve', 'get'];
    findings.error(
      'resolve_invalid',
      path,
      `The operation has no parameter "${unknownName}". Declare it, or correct the path.`,
    );
  }
}

export function placeholdersOf(path: string): string[] {
  return [...path.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? '');
}

function isLookUpPath(getPath: string): boolean {
  const [path = '', query = ''] = getPath.split('?');
  const pathWithoutPlaceholders = path.replaceAll(/\{[^{}]+\}/g, 'x');
  return (
    /^(?:\/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+$/.test(pathWithoutPlaceholders) &&
    !/\/\.\.?(?:\/|$)/.test(pathWithoutPlaceholders) &&
    /^[A-Za-z0-9._~!$&'()*+,;=:@/-]*$/.test(query.replaceAll(/\{[^{}]+\}/g, 'x')) &&
    getPath.split('?').length <= 2
  );
}
