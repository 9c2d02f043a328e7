import type { JsonValue } from '#contracts/vocabulary';

type PathStep =
  | { readonly kind: 'member'; readonly name: string }
  | { readonly kind: 'element'; readonly at: number }
  | { readonly kind: 'each' };

type FilterSource =
  | { readonly kind: 'path'; readonly steps: readonly PathStep[] }
  | { readonly kind: 'text'; readonly text: string };

/** A jq filter that is simple enough to be evaluated without jq. */
export interface PlainFilter {
  readonly source: FilterSource;
  /**
   * The alternative after `//`, used when the path leads to no value, or only to null and false.
   */
  readonly otherwise: { readonly text: string } | 'nothing' | null;
  /** True for a filter that ends in `| tostring`. */
  readonly asText: boolean;
}

const stringSource = String.raw`"([^"\\\u0000-\u001f]*)"`;
const spaceSource = String.raw`[ \t\r\n]*`;
const stepPattern = new RegExp(
  String.raw`\.([A-Za-z_][A-Za-z0-9_]*)|\.${stringSource}|\.?\[(?:${stringSource}|(0|-?[1-9][0-9]{0,8}))?\]`,
  'y',
);
const stringPattern = new RegExp(stringSource, 'y');
const otherwisePattern = new RegExp(`${spaceSource}//${spaceSource}(?:empty|${stringSource})`, 'y');
const asTextPattern = new RegExp(String.raw`${spaceSource}\|${spaceSource}tostring`, 'y');
const surroundingSpace = /^[ \t\r\n]+|[ \t\r\n]+$/g;
/** When an output is larger than this, jq runs the filter and reports the error. */
const outputBytesMax = 256 * 1024;

/** How many more values and characters may be read. The filters of one call share this budget. */
export interface PlainBudget {
  left: number;
}

export function createPlainBudget(): PlainBudget {
  return { left: 256 * 1024 };
}

/**
 * Parses `.body.title`, `.params["x-y"][0]`, `.body.items[].id` and string literals, each
 * optionally followed by `// empty`, `// "text"` or `| tostring`. Undefined for any other filter,
 * which jq must run.
 */
export function parsePlainFilter(filter: string): PlainFilter | undefined {
  if (!filter.isWellFormed()) return undefined;
  const filterScanner = scannerOf(filter.replaceAll(surroundingSpace, ''));
  const source = parseSource(filterScanner);
  if (source === undefined) return undefined;
  const alternative = filterScanner.take(otherwisePattern);
  const asText = filterScanner.take(asTextPattern) !== undefined;
  if (!filterScanner.isAtEnd()) return undefined;
  const text = alternative?.[1];
  const defaultOutput = alternative && (text === undefined ? 'nothing' : { text });
  return { source, otherwise: defaultOutput ?? null, asText };
}

interface Scanner {
  /** Tries the pattern at the current position and moves past the match. */
  take(pattern: RegExp): RegExpExecArray | undefined;
  isAtEnd(): boolean;
  readonly text: string;
}

/**
 * A scanner over a filter. It tries each pattern only at the current position, so parsing takes
 * time proportional to the filter's length.
 */
function scannerOf(text: string): Scanner {
  let index = 0;
  return {
    text,
    take(pattern) {
      pattern.lastIndex = index;
      const match = pattern.exec(text);
      if (match === null) return undefined;
      index = pattern.lastIndex;
      return match;
    },
    isAtEnd: () => index === text.length,
  };
}

function parseSource(filterScanner: Scanner): FilterSource | undefined {
  const text = filterScanner.take(stringPattern)?.[1];
  if (text !== undefined) return { kind: 'text', text };
  // A path begins with a dot. Without the dot, `[0]` is not a path: jq builds an array.
  if (!filterScanner.text.startsWith('.')) return undefined;
  const steps: PathStep[] = [];
  for (
    let match = filterScanner.take(stepPattern);
    match;
    match = filterScanner.take(stepPattern)
  ) {
    const [, name, quoted, bracketed, at] = match;
    const member = name ?? quoted ?? bracketed;
    if (member !== undefined) steps.push({ kind: 'member', name: member });
    else steps.push(at === undefined ? { kind: 'each' } : { kind: 'element', at: Number(at) });
  }
  return steps.length === 0 ? undefined : { kind: 'path', steps };
}

/**
 * The outputs that jq would print for `value`, as JSON texts. Undefined when jq itself must run:
 * when the filter fails (because the error message is jq's), for numbers that jq prints
 * differently, and for values so large that reading them would block the event loop.
 */
export function runPlainFilter(
  { source, otherwise, asText }: PlainFilter,
  value: JsonValue,
  budget = createPlainBudget(),
): string[] | undefined {
  let values: JsonValue[] = [];
  if (source.kind === 'text') values = [source.text];
  else if (!followPath(value, source.steps, { found: values, budget })) return undefined;
  if (otherwise !== null) {
    const truthyOutputs = values.filter((each) => each !== null && each !== false);
    if (truthyOutputs.length > 0) values = truthyOutputs;
    else values = otherwise === 'nothing' ? [] : [otherwise.text];
  }
  const outputs: string[] = [];
  let bytes = 0;
  for (const each of values) {
    if (!isPrintable(each, budget)) return undefined;
    const output = JSON.stringify(each).replaceAll('\u007F', String.raw`\u007f`);
    const shownOutput = asText && typeof each !== 'string' ? JSON.stringify(output) : output;
    bytes += Buffer.byteLength(shownOutput) + 1;
    outputs.push(shownOutput);
  }
  return bytes > outputBytesMax ? undefined : outputs;
}

interface PathOutputs {
  readonly found: JsonValue[];
  readonly budget: PlainBudget;
}

/**
 * Appends to `found` the values that a path leads to. False when jq must run the filter instead.
 */
function followPath(
  value: JsonValue,
  [step, ...rest]: readonly PathStep[],
  pathOutputs: PathOutputs,
): boolean {
  pathOutputs.budget.left -= 1;
  if (pathOutputs.budget.left < 0) return false;
  if (step === undefined) {
    pathOutputs.found.push(value);
    return true;
  }
  if (step.kind === 'each') {
    if (value === null || typeof value !== 'object') return false;
    const values = Array.isArray(value) ? value : Object.values(value);
    return values.every((each) => followPath(each, rest, pathOutputs));
  }
  if (value === null) return followPath(null, rest, pathOutputs);
  if (step.kind === 'element') {
    return Array.isArray(value) && followPath(value.at(step.at) ?? null, rest, pathOutputs);
  }
  if (typeof value !== 'object' || Array.isArray(value)) return false;
  const member = Object.hasOwn(value, step.name) ? value[step.name] : null;
  return followPath(member ?? null, rest, pathOutputs);
}

/** False for numbers in exponent notation, because jq prints them differently. */
function isPrintable(value: JsonValue, budget: PlainBudget): boolean {
  budget.left -= typeof value === 'string' ? value.length : 1;
  if (budget.left < 0) return false;
  if (typeof value === 'number') return Number.isFinite(value) && !String(value).includes('e');
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.every((each) => isPrintable(each, budget));
  return Object.entries(value).every(([name, each]) => {
    budget.left -= name.length;
    return isPrintable(each, budget);
  });
}
