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
  { method, path, ignoresCase = false }: { method: string; path: string; ignoresCase?: boolean },
): FoundOperation[] {
  const segments = segmentsOf(path);
  const fitting = Object.values(template.actions).flatMap((action) => {
    if (!isSameMethod(action.method, method)) return [];
    return readingsOf(action, { segments, ignoresCase }).map((pathValues) => ({
      action,
      pathValues,
      fixed: countFixed(action),
    }));
  });
  const most = Math.max(...fitting.map(({ fixed }) => fixed));
  return fitting.filter(({ fixed }) => fixed === most);
}

/** What a request may be to whoever serves it. */
interface ServedOperations {
  /** As its path is written, with its path parameters (`/notes;v=1`) and without: servers differ. */
  readonly listed: readonly FoundOperation[];
  /** Further ones to a server that takes `/Notes` for `/notes`, as many do. */
  readonly alike: readonly FoundOperation[];
}

export function findServedOperations(
  template: CompiledTemplate,
  { method, path }: { method: string; path: string },
): ServedOperations {
  const readings = [...new Set([path, path.replaceAll(/;[^/]*/g, '')])];
  const find = (ignoresCase: boolean) =>
    readings.flatMap((reading) => findOperations(template, { method, path: reading, ignoresCase }));
  const listed = find(false);
  const known = new Set(listed.map(({ action }) => action));
  return { listed, alike: find(true).filter(({ action }) => !known.has(action)) };
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

interface Reading {
  readonly segments: readonly string[];
  readonly ignoresCase: boolean;
}

/** Every way in which the path fits the action, up to a limit. */
function readingsOf(action: CompiledAction, { segments, ignoresCase }: Reading): Values[] {
  const expected = segmentsOf(action.path);
  const open = new Set(
    action.params
      .filter((param) => param.in === 'path' && param.allowReserved)
      .map(({ name }) => `{${name}}`),
  );
  const spare = segments.length - expected.length;
  if (spare < 0 || (spare > 0 && !expected.some((segment) => open.has(segment)))) return [];
  const fits = fitsFrom({ expected, open }, { segments, ignoresCase });
  const readings: Values[] = [];
  // Goes only where the rest of the path fits, so every step is part of a reading.
  const read = (at: number, from: number, values: Values): void => {
    const segment = expected[at];
    if (segment === undefined) {
      readings.push(values);
      return;
    }
    const longest = open.has(segment) ? segments.length - from : 1;
    for (let length = 1; length <= longest && readings.length < readingsMax; length += 1) {
      if (!fits(at + 1, from + length)) continue;
      const found = segments.slice(from, from + length).join('/');
      const matched = matchSegment(segment, found, ignoresCase);
      if (matched) read(at + 1, from + length, { ...values, ...matched });
    }
  };
  if (fits(0, 0)) read(0, 0, {});
  return readings;
}

/**
 * Which ends of the path fit which ends of the template's, from the last segment back: one step for
 * each pair of segments, whatever the parameters in between could hold.
 */
function fitsFrom(
  { expected, open }: { expected: readonly string[]; open: ReadonlySet<string> },
  { segments, ignoresCase }: Reading,
): (at: number, from: number) => boolean {
  const width = segments.length + 1;
  const fitting = new Uint8Array((expected.length + 1) * width);
  fitting[expected.length * width + segments.length] = 1;
  for (let at = expected.length - 1; at >= 0; at -= 1) {
    const segment = expected[at] ?? '';
    let isAnyAfter = false;
    for (let from = segments.length - 1; from >= at; from -= 1) {
      isAnyAfter ||= fitting[(at + 1) * width + from + 1] === 1;
      const isFitting = open.has(segment)
        ? isAnyAfter
        : fitting[(at + 1) * width + from + 1] === 1 &&
          matchSegment(segment, segments[from] ?? '', ignoresCase) !== undefined;
      if (isFitting) fitting[at * width + from] = 1;
    }
  }
  return (at, from) => fitting[at * width + from] === 1;
}

/** `{owner}`, `{id}.json`, `{a}..{b}`: the text around must be there; a lone parameter also gets its value. */
function matchSegment(segment: string, found: string, ignoresCase: boolean): Values | undefined {
  const fold = (text: string) => (ignoresCase ? text.toLowerCase() : text);
  if (!segment.includes('{')) {
    const fixed = fold(segment);
    return fixed === fold(found) || fixed === fold(decode(found)) ? {} : undefined;
  }
  const texts = segment.split(/\{[^{}]+\}/);
  const [first = '', last = ''] = [texts[0], texts.at(-1)];
  // `x%3Acancel` is `x:cancel` to whoever decodes before it routes.
  const plain = decode(found);
  const isMatch =
    plain.length > first.length + last.length &&
    fold(plain).startsWith(fold(first)) &&
    fold(plain).endsWith(fold(last));
  if (!isMatch) return undefined;
  const name = /^[^{]*\{([^{}]+)\}[^{]*$/.exec(segment)?.[1];
  if (name === undefined) return {};
  return { [name]: plain.slice(first.length, plain.length - last.length) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // Not UTF-8: compared as it stands.
  }
}
