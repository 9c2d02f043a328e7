import type { CompiledAction, CompiledTemplate } from '../contracts/template.ts';

/** An operation of a template that a request may be, with what its path says about the params. */
export interface FoundOperation {
  readonly action: CompiledAction;
  readonly pathValues: Readonly<Record<string, string>>;
}

/** A path can be read in several ways only where several parameters may hold `/`. */
const readingsMax = 16;

/**
 * The operations of a template that a method and a path below its base URL stand for: of those
 * that fit, the ones with the most fixed segments, as servers route (`/users/me` before
 * `/users/{id}`). Several when the template is ambiguous, or when parameters that may hold `/`
 * can share the path in several ways; for deny rules each of them counts.
 */
export function findOperations(
  template: CompiledTemplate,
  { method, path }: { method: string; path: string },
): FoundOperation[] {
  const segments = segmentsOf(path);
  const fitting = Object.values(template.actions).flatMap((action) => {
    if (!isSameMethod(action.method, method)) return [];
    return readingsOf(action, segments).map((pathValues) => ({
      action,
      pathValues,
      fixed: countFixed(action),
    }));
  });
  const most = Math.max(...fitting.map(({ fixed }) => fixed));
  return fitting.filter(({ fixed }) => fixed === most);
}

/**
 * The operations that a request may be to whoever serves it: some servers drop the path
 * parameters of a segment (`/notes;v=1`) before they route, others do not.
 */
export function findServedOperations(
  template: CompiledTemplate,
  { method, path }: { method: string; path: string },
): FoundOperation[] {
  const readings = new Set([path, path.replaceAll(/;[^/]*/g, '')]);
  return [...readings].flatMap((reading) => findOperations(template, { method, path: reading }));
}

/** A HEAD is answered by what answers GET. */
export function isSameMethod(left: string, right: string): boolean {
  return left === right || (isFetch(left) && isFetch(right));
}

function isFetch(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

function countFixed(action: CompiledAction): number {
  return segmentsOf(action.path).filter((segment) => !segment.includes('{')).length;
}

/** Servers commonly overlook empty segments; a deny rule that did not would be easy to get around. */
function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}

type Values = Readonly<Record<string, string>>;

/** Every way in which the path fits the action, up to a limit. */
function readingsOf(action: CompiledAction, segments: readonly string[]): Values[] {
  const expected = segmentsOf(action.path);
  const open = new Set(
    action.params
      .filter((param) => param.in === 'path' && param.allowReserved)
      .map(({ name }) => `{${name}}`),
  );
  const readings: Values[] = [];
  const read = (at: number, from: number, values: Values): void => {
    const segment = expected[at];
    const left = expected.length - at;
    if (segments.length - from < left || readings.length >= readingsMax) return;
    if (segment === undefined) {
      if (from === segments.length) readings.push(values);
      return;
    }
    const longest = open.has(segment) ? segments.length - from - left + 1 : 1;
    for (let length = 1; length <= longest; length += 1) {
      const found = segments.slice(from, from + length).join('/');
      const matched = matchSegment(segment, found);
      if (matched) read(at + 1, from + length, { ...values, ...matched });
    }
  };
  read(0, 0, {});
  return readings;
}

/** `{owner}`, `{id}.json`, `{a}..{b}`: the text around must be there; a lone parameter also gets its value. */
function matchSegment(segment: string, found: string): Values | undefined {
  if (!segment.includes('{'))
    return segment === found || segment === decode(found) ? {} : undefined;
  const texts = segment.split(/\{[^{}]+\}/);
  const [first = '', last = ''] = [texts[0], texts.at(-1)];
  const isMatch =
    found.length > first.length + last.length && found.startsWith(first) && found.endsWith(last);
  if (!isMatch) return undefined;
  const name = /^[^{]*\{([^{}]+)\}[^{]*$/.exec(segment)?.[1];
  if (name === undefined) return {};
  return { [name]: decode(found.slice(first.length, found.length - last.length)) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // Not UTF-8: compared as it stands.
  }
}
