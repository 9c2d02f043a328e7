import type { JsonValue } from '#contracts/vocabulary';

type Step =
  | { readonly kind: 'member'; readonly name: string }
  | { readonly kind: 'element'; readonly at: number }
  | { readonly kind: 'each' };

type Source =
  | { readonly kind: 'path'; readonly steps: readonly Step[] }
  | { readonly kind: 'text'; readonly text: string };

/** A jq filter that is simple enough to be evaluated without jq. */
export interface PlainFilter {
  readonly source: Source;
  /** After `//`: what stands in when nothing but null and false was found. */
  readonly otherwise: { readonly text: string } | 'nothing' | null;
  /** `| tostring`. */
  readonly asText: boolean;
}

const string = String.raw`"([^"\\\u0000-\u001f]*)"`;
const space = String.raw`[ \t\r\n]*`;
const stepPattern = new RegExp(
  String.raw`\.([A-Za-z_][A-Za-z0-9_]*)|\.${string}|\.?\[(?:${string}|(0|-?[1-9][0-9]{0,8}))?\]`,
  'y',
);
const stringPattern = new RegExp(string, 'y');
const otherwisePattern = new RegExp(`${space}//${space}(?:empty|${string})`, 'y');
const asTextPattern = new RegExp(String.raw`${space}\|${space}tostring`, 'y');
const surroundingSpace = /^[ \t\r\n]+|[ \t\r\n]+$/g;
/** More than jq would give; then jq says so. */
const outputBytesMax = 256 * 1024;

/** How much may still be looked at, in values and characters; shared by the filters of one call. */
export interface PlainBudget {
  left: number;
}

export function plainBudget(): PlainBudget {
  return { left: 256 * 1024 };
}

/**
 * Reads `.body.title`, `.params["x-y"][0]`, `.body.items[].id` and string literals, each with
 * `// empty`, `// "text"` or `| tostring` behind it. Undefined for every other filter: jq runs it.
 */
export function parsePlainFilter(filter: string): PlainFilter | undefined {
  if (!filter.isWellFormed()) return undefined;
  const scan = scannerOf(filter.replaceAll(surroundingSpace, ''));
  const source = parseSource(scan);
  if (source === undefined) return undefined;
  const alternative = scan.take(otherwisePattern);
  const asText = scan.take(asTextPattern) !== undefined;
  if (!scan.isAtEnd()) return undefined;
  const text = alternative?.[1];
  const otherwise = alternative && (text === undefined ? 'nothing' : { text });
  return { source, otherwise: otherwise ?? null, asText };
}

interface Scanner {
  /** Matches at the present place and moves on behind it. */
  take(pattern: RegExp): RegExpExecArray | undefined;
  isAtEnd(): boolean;
  readonly text: string;
}

/** Each pattern is tried at one place only, so reading a filter takes time in proportion to its length. */
function scannerOf(text: string): Scanner {
  let at = 0;
  return {
    text,
    take(pattern) {
      pattern.lastIndex = at;
      const match = pattern.exec(text);
      if (match === null) return undefined;
      at = pattern.lastIndex;
      return match;
    },
    isAtEnd: () => at === text.length,
  };
}

function parseSource(scan: Scanner): Source | undefined {
  const text = scan.take(stringPattern)?.[1];
  if (text !== undefined) return { kind: 'text', text };
  // A path begins with a dot; `[0]` alone makes an array.
  if (!scan.text.startsWith('.')) return undefined;
  const steps: Step[] = [];
  for (let match = scan.take(stepPattern); match; match = scan.take(stepPattern)) {
    const [, name, quoted, bracketed, at] = match;
    const member = name ?? quoted ?? bracketed;
    if (member !== undefined) steps.push({ kind: 'member', name: member });
    else steps.push(at === undefined ? { kind: 'each' } : { kind: 'element', at: Number(at) });
  }
  return steps.length === 0 ? undefined : { kind: 'path', steps };
}

/**
 * What jq would print for `value`, one JSON text for each output. Undefined where only jq can say:
 * a filter that fails (its words are jq's), numbers that it writes differently, and what is so
 * large that it would hold up the event loop.
 */
export function runPlainFilter(
  { source, otherwise, asText }: PlainFilter,
  value: JsonValue,
  budget = plainBudget(),
): string[] | undefined {
  let found: JsonValue[] = [];
  if (source.kind === 'text') found = [source.text];
  else if (!follow(value, source.steps, { found, budget })) return undefined;
  if (otherwise !== null) {
    const present = found.filter((each) => each !== null && each !== false);
    if (present.length > 0) found = present;
    else found = otherwise === 'nothing' ? [] : [otherwise.text];
  }
  const outputs: string[] = [];
  let bytes = 0;
  for (const each of found) {
    if (!isPrintable(each, budget)) return undefined;
    const output = JSON.stringify(each).replaceAll('\u007F', String.raw`\u007f`);
    const shown = asText && typeof each !== 'string' ? JSON.stringify(output) : output;
    bytes += Buffer.byteLength(shown) + 1;
    outputs.push(shown);
  }
  return bytes > outputBytesMax ? undefined : outputs;
}

interface Following {
  readonly found: JsonValue[];
  readonly budget: PlainBudget;
}

/** Appends to `found` what a path leads to; false where jq would fail, or has to be asked. */
function follow(value: JsonValue, [step, ...rest]: readonly Step[], into: Following): boolean {
  into.budget.left -= 1;
  if (into.budget.left < 0) return false;
  if (step === undefined) {
    into.found.push(value);
    return true;
  }
  if (step.kind === 'each') {
    if (value === null || typeof value !== 'object') return false;
    const values = Array.isArray(value) ? value : Object.values(value);
    return values.every((each) => follow(each, rest, into));
  }
  if (value === null) return follow(null, rest, into);
  if (step.kind === 'element') {
    return Array.isArray(value) && follow(value.at(step.at) ?? null, rest, into);
  }
  if (typeof value !== 'object' || Array.isArray(value)) return false;
  const member = Object.hasOwn(value, step.name) ? value[step.name] : null;
  return follow(member ?? null, rest, into);
}

/** jq writes a number with an exponent in its own way. */
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
