import type { CompiledParam } from '#contracts/template';
import { isObject } from './context.ts';
import type { Context, JsonObject, Place } from './context.ts';
import { checkFields } from './fields.ts';
import { readObject, readText } from './reading.ts';

const pickPath = /^[^.\s]+(?:\.[^.\s]+)*$/;

/** Compiles `resolve: {get, pick}`, the look-up of a readable name for an id (docs/writing-templates.md#fields). */
export function compileResolve(context: Context, at: Place<JsonObject>): CompiledParam['resolve'] {
  const block = readObject(context, at, 'x-service-resolve');
  if (block === undefined) return null;
  checkFields(context, block, 'resolve block');
  const get = readText(context, block, { key: 'get', max: 1000, required: true });
  const pick = readText(context, block, { key: 'pick', max: 200, required: true });
  if (get === undefined || pick === undefined) return null;
  if (!isLookUpPath(get)) {
    const message =
      'Give a path of this API that starts with "/", such as /users/{user_id}; no host and no dot segments.';
    context.findings.error('resolve_invalid', [...block.path, 'get'], message);
    return null;
  }
  if (!pickPath.test(pick)) {
    const message = 'Give a dotted path into the answer, such as user.name or items.0.title.';
    context.findings.error('resolve_invalid', [...block.path, 'pick'], message);
    return null;
  }
  return { get, pick };
}

/** The look-up may use the operation's own parameters; others would never be known. */
export function checkResolves(
  { findings }: Context,
  params: readonly (CompiledParam & { at: Place<JsonObject> })[],
): void {
  const known = params.map((param) => param.name);
  for (const { resolve, at } of params) {
    if (resolve === null || !isObject(at.value)) continue;
    const unknown = placeholdersOf(resolve.get).find((name) => !known.includes(name));
    if (unknown === undefined) continue;
    const path = [...at.path, 'x-service-resolve', 'get'];
    findings.error(
      'resolve_invalid',
      path,
      `The operation has no parameter "${unknown}". Declare it, or correct the path.`,
    );
  }
}

export function placeholdersOf(path: string): string[] {
  return [...path.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? '');
}

function isLookUpPath(get: string): boolean {
  const [path = '', query = ''] = get.split('?');
  const literal = path.replaceAll(/\{[^{}]+\}/g, 'x');
  return (
    /^(?:\/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+$/.test(literal) &&
    !/\/\.\.?(?:\/|$)/.test(literal) &&
    /^[A-Za-z0-9._~!$&'()*+,;=:@/-]*$/.test(query.replaceAll(/\{[^{}]+\}/g, 'x')) &&
    get.split('?').length <= 2
  );
}
