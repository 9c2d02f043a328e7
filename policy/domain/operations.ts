import type { CompiledAction, CompiledTemplate } from '#contracts/template';

/** An operation of a template that a request may be, with what its path says about the params. */
export interface FoundOperation {
  readonly action: CompiledAction;
  readonly pathValues: Readonly<Record<string, string>>;
}

/**
 * The operations of a template that a method and a path below its base URL stand for: of those
 * that fit, the ones with the most fixed segments, as servers route (`/users/me` before
 * `/users/{id}`). Several only when the template is ambiguous; for deny rules each of them counts.
 */
export function findOperations(
  template: CompiledTemplate,
  { method, path }: { method: string; path: string },
): FoundOperation[] {
  const segments = segmentsOf(path);
  const fitting = Object.values(template.actions).flatMap((action) => {
    if (!isSameMethod(action.method, method)) return [];
    const pathValues = matchPath(action, segments);
    return pathValues === undefined ? [] : [{ action, pathValues, fixed: countFixed(action) }];
  });
  const most = Math.max(...fitting.map(({ fixed }) => fixed));
  return fitting.filter(({ fixed }) => fixed === most);
}

function countFixed(action: CompiledAction): number {
  return segmentsOf(action.path).filter((segment) => !segment.includes('{')).length;
}

/** A HEAD is answered by what answers GET. */
export function isSameMethod(left: string, right: string): boolean {
  return left === right || (isFetch(left) && isFetch(right));
}

function isFetch(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Servers commonly overlook empty segments; a deny rule that did not would be easy to get around. */
function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}

function matchPath(
  action: CompiledAction,
  segments: readonly string[],
): Record<string, string> | undefined {
  const expected = segmentsOf(action.path);
  const open = openSegment(action, expected);
  const extra = segments.length - expected.length;
  if (open < 0 ? extra !== 0 : extra < 0) return undefined;
  const values: Record<string, string> = {};
  for (const [index, segment] of expected.entries()) {
    const start = open >= 0 && index > open ? index + extra : index;
    const end = index === open ? start + extra + 1 : start + 1;
    const found = segments.slice(start, end).join('/');
    if (!matchSegment(segment, found, values)) return undefined;
  }
  return values;
}

/** The segment whose parameter may hold `/` (`allowReserved`), or -1. */
function openSegment(action: CompiledAction, expected: readonly string[]): number {
  const open = action.params.find((param) => param.in === 'path' && param.allowReserved);
  return open === undefined ? -1 : expected.indexOf(`{${open.name}}`);
}

/** `{owner}`, `{id}.json`, `{a}..{b}`: the text around must be there; a lone parameter also gets its value. */
function matchSegment(segment: string, found: string, values: Record<string, string>): boolean {
  if (!segment.includes('{')) return segment === found || segment === decode(found);
  const texts = segment.split(/\{[^{}]+\}/);
  const [first = '', last = ''] = [texts[0], texts.at(-1)];
  const isMatch =
    found.length > first.length + last.length && found.startsWith(first) && found.endsWith(last);
  if (!isMatch) return false;
  const name = /^[^{]*\{([^{}]+)\}[^{]*$/.exec(segment)?.[1];
  if (name !== undefined) {
    values[name] = decode(found.slice(first.length, found.length - last.length));
  }
  return true;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // Not UTF-8: compared as it stands.
  }
}
