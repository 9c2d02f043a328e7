import type { CompiledAction, CompiledTemplate } from '../contracts/template.ts';

/** An operation of a template that a request may be, with what its path says about the params. */
export interface FoundOperation {
  readonly action: CompiledAction;
  readonly pathValues: Readonly<Record<string, string>>;
}

/** A path can be read in several ways only where several parameters may hold `/`. */
const readingsMax = 16;
/** Segments of a path compared with those of templates, where several lengths are possible. */
const cellsMax = 1_000_000;

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
  const reading = { segments: readSegments(path), ignoresCase, left: { cells: cellsMax } };
  const guessed: FoundOperation[] = [];
  const fitting = Object.values(template.actions).flatMap((action) => {
    if (!isSameMethod(action.method, method)) return [];
    const readings = readingsOf(action, reading);
    // It may be this one, with any values, beside those that fit.
    if (readings === undefined) guessed.push({ action, pathValues: {} });
    return (readings ?? []).map((pathValues) => ({
      action,
      pathValues,
      fixed: countFixed(action),
    }));
  });
  const most = Math.max(...fitting.map(({ fixed }) => fixed));
  return [...fitting.filter(({ fixed }) => fixed === most), ...guessed];
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
  return stepsOf(action).filter(({ isFixed }) => isFixed).length;
}

/** Servers commonly overlook empty segments; a deny rule that did not would be easy to get around. */
function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}

/** A segment of a template's path. */
interface Step {
  readonly text: string;
  readonly folded: string;
  readonly isFixed: boolean;
  /** A parameter that may hold `/`. */
  readonly isOpen: boolean;
}

/** Found once for each action: every request to its host is compared with all of them. */
const knownSteps = new WeakMap<CompiledAction, readonly Step[]>();

function stepsOf(action: CompiledAction): readonly Step[] {
  let steps = knownSteps.get(action);
  if (steps !== undefined) return steps;
  const open = new Set(
    action.params
      .filter((param) => param.in === 'path' && param.allowReserved)
      .map(({ name }) => `{${name}}`),
  );
  steps = segmentsOf(action.path).map((text) => ({
    ...{ text, folded: text.toLowerCase() },
    ...{ isFixed: !text.includes('{'), isOpen: open.has(text) },
  }));
  knownSteps.set(action, steps);
  return steps;
}

type Values = Readonly<Record<string, string>>;

/** A segment of a request's path, as it is written and as it is read. */
interface Segment {
  readonly text: string;
  readonly plain: string;
  readonly folded: string;
  readonly foldedPlain: string;
}

function readSegments(path: string): Segment[] {
  return segmentsOf(path).map((text) => {
    const plain = decode(text);
    return { text, plain, folded: text.toLowerCase(), foldedPlain: plain.toLowerCase() };
  });
}

interface Reading {
  readonly segments: readonly Segment[];
  readonly ignoresCase: boolean;
  /** Comparisons that may still be made where parameters may hold `/`. */
  readonly left: { cells: number };
}

/** Every way in which the path fits the action, up to a limit. */
function readingsOf(action: CompiledAction, reading: Reading): Values[] | undefined {
  const { segments, ignoresCase } = reading;
  const expected = stepsOf(action);
  const spare = segments.length - expected.length;
  if (spare < 0 || (spare > 0 && !expected.some(({ isOpen }) => isOpen))) return [];
  if (spare === 0) return readInOrder(expected, reading);
  reading.left.cells -= expected.length * segments.length;
  // More than can be looked through.
  if (reading.left.cells < 0) return undefined;
  const fits = fitsFrom(expected, reading);
  const readings: Values[] = [];
  // Goes only where the rest of the path fits, so every step is part of a reading.
  const read = (at: number, from: number, values: Values): void => {
    const step = expected[at];
    if (step === undefined) {
      readings.push(values);
      return;
    }
    const longest = step.isOpen ? segments.length - from : 1;
    for (let length = 1; length <= longest && readings.length < readingsMax; length += 1) {
      if (!fits(at + 1, from + length)) continue;
      const found = segments.slice(from, from + length);
      const matched = matchSegment(step, joined(found), ignoresCase);
      if (matched) read(at + 1, from + length, { ...values, ...matched });
    }
  };
  if (fits(0, 0)) read(0, 0, {});
  return readings;
}

/** Segment by segment: as many as the template has. */
function readInOrder(expected: readonly Step[], { segments, ignoresCase }: Reading): Values[] {
  const values: Record<string, string> = {};
  for (const [at, step] of expected.entries()) {
    const segment = segments[at];
    const matched = segment && matchSegment(step, segment, ignoresCase);
    if (matched === undefined) return [];
    Object.assign(values, matched);
  }
  return [values];
}

function joined(segments: readonly Segment[]): Segment {
  const [only] = segments;
  if (only !== undefined && segments.length === 1) return only;
  const join = (name: keyof Segment) => segments.map((each) => each[name]).join('/');
  return {
    ...{ text: join('text'), plain: join('plain') },
    ...{ folded: join('folded'), foldedPlain: join('foldedPlain') },
  };
}

/**
 * Which ends of the path fit which ends of the template's, from the last segment back: one step for
 * each pair of segments, whatever the parameters in between could hold.
 */
function fitsFrom(
  expected: readonly Step[],
  { segments, ignoresCase }: Reading,
): (at: number, from: number) => boolean {
  const width = segments.length + 1;
  const fitting = new Uint8Array((expected.length + 1) * width);
  fitting[expected.length * width + segments.length] = 1;
  for (let at = expected.length - 1; at >= 0; at -= 1) {
    const step = expected[at];
    let isAnyAfter = false;
    for (let from = segments.length - 1; from >= at; from -= 1) {
      isAnyAfter ||= fitting[(at + 1) * width + from + 1] === 1;
      const segment = segments[from];
      if (step === undefined || segment === undefined) continue;
      const isFitting = step.isOpen
        ? isAnyAfter
        : fitting[(at + 1) * width + from + 1] === 1 &&
          matchSegment(step, segment, ignoresCase) !== undefined;
      if (isFitting) fitting[at * width + from] = 1;
    }
  }
  return (at, from) => fitting[at * width + from] === 1;
}

/** `{owner}`, `{id}.json`, `{a}..{b}`: the text around must be there; a lone parameter also gets its value. */
function matchSegment(step: Step, found: Segment, ignoresCase: boolean): Values | undefined {
  const segment = ignoresCase ? step.folded : step.text;
  const text = ignoresCase ? found.folded : found.text;
  // `x%3Acancel` is `x:cancel` to whoever decodes before it routes.
  const plain = ignoresCase ? found.foldedPlain : found.plain;
  if (step.isFixed) return segment === text || segment === plain ? {} : undefined;
  const texts = segment.split(/\{[^{}]+\}/);
  const [first = '', last = ''] = [texts[0], texts.at(-1)];
  const isMatch =
    plain.length > first.length + last.length && plain.startsWith(first) && plain.endsWith(last);
  if (!isMatch) return undefined;
  const name = /^[^{]*\{([^{}]+)\}[^{]*$/.exec(step.text)?.[1];
  if (name === undefined) return {};
  return { [name]: found.plain.slice(first.length, found.plain.length - last.length) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // Not UTF-8: compared as it stands.
  }
}
