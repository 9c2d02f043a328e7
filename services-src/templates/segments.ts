import type { CompiledAction } from '../contracts/template.ts';

/**
 * The most segments that the path of an operation may have. Published documents have up to 19; each
 * request to a host is compared with every segment of every operation of that host.
 */
export const segmentCountMax = 64;

/** A segment of a template's path, prepared for comparison with and without letter case. */
export interface Step {
  readonly isFixed: boolean;
  /** Whether the segment's parameter may contain `/`. */
  readonly isOpen: boolean;
  /**
   * The text before, between and after the parameters; the whole segment when it has no parameter.
   */
  readonly exact: readonly string[];
  readonly folded: readonly string[];
  /** The parameter's name, if the segment has exactly one parameter. */
  readonly name: string | undefined;
}

/** A segment of a request's path, as written and as decoded. */
export interface Segment {
  readonly text: string;
  readonly plain: string;
  readonly folded: string;
  readonly foldedPlain: string;
  /**
   * Whether some servers may read the segment as this text. Set when servers may read it
   * differently.
   */
  readonly mayBe?: (foldedText: string) => boolean;
}

export type Values = Readonly<Record<string, string>>;

/**
 * Counts the segments of a path without empty ones. Servers commonly ignore empty segments, so a
 * caller could bypass a deny rule by adding some if they counted.
 */
export function countSegments(path: string): number {
  let count = 0;
  let isInside = false;
  for (let index = 0; index < path.length; index += 1) {
    const isSlash = path.charCodeAt(index) === 0x2f;
    if (!isSlash && !isInside) count += 1;
    isInside = !isSlash;
  }
  return count;
}

const placeholders = /\{[^{}]+\}/g;

/**
 * The path of an action, with one character as the value of each parameter. No template contains
 * this character.
 */
export function samplePathOf({ path }: CompiledAction): string {
  return path.replaceAll(placeholders, '\0');
}

export function readSteps({ path, params }: CompiledAction): Step[] {
  const openPlaceholders = new Set(
    params
      .filter((param) => param.in === 'path' && param.allowReserved)
      .map(({ name }) => `{${name}}`),
  );
  return segmentsOf(path).map((text) => {
    const isFixed = !text.includes('{');
    const foldedText = text.toLowerCase();
    const name = /^[^{]*\{([^{}]+)\}[^{]*$/.exec(text)?.[1];
    return {
      isFixed,
      isOpen: openPlaceholders.has(text),
      exact: text.split(placeholders),
      folded: foldedText.split(placeholders),
      name,
    };
  });
}

export function readSegments(path: string): Segment[] {
  return segmentsOf(path).map((text) => {
    const decodedText = decodeText(text);
    return {
      text,
      plain: decodedText,
      folded: text.toLowerCase(),
      foldedPlain: decodedText.toLowerCase(),
    };
  });
}

/**
 * Matches one segment with a pattern such as `{owner}`, `{id}.json` or `{a}..{b}`: the literal text
 * must be present, and a single parameter gets its value.
 */
export function matchSegment(
  step: Step,
  segment: Segment,
  ignoresCase: boolean,
): Values | undefined {
  if (segment.mayBe) {
    return step.folded.every(segment.mayBe) ? {} : undefined;
  }
  const texts = ignoresCase ? step.folded : step.exact;
  const [first = '', last = ''] = [texts[0], texts.at(-1)];
  // A server that decodes before it routes reads `x%3Acancel` as `x:cancel`.
  const plainText = ignoresCase ? segment.foldedPlain : segment.plain;
  if (step.isFixed) {
    const text = ignoresCase ? segment.folded : segment.text;
    return first === text || first === plainText ? {} : undefined;
  }
  if (!plainText.startsWith(first) || !plainText.endsWith(last)) return undefined;
  let end = first.length;
  for (const between of texts.slice(1, -1)) {
    const start = plainText.indexOf(between, end + 1);
    if (start < 0) return undefined;
    end = start + between.length;
  }
  if (plainText.length - last.length <= end) return undefined;
  if (step.name === undefined) return {};
  return { [step.name]: segment.plain.slice(first.length, segment.plain.length - last.length) };
}

/** A text that all servers read in one way. */
const wordPattern = /^[\w-]+$/;

/**
 * Whether all servers read a matching segment in the same way: as the step's fixed text, with a
 * word as the value of its parameter.
 */
export function isClear(step: Step, segment: Segment): boolean {
  if (wordPattern.test(segment.plain)) return true;
  const values = matchSegment(step, segment, true);
  if (values === undefined || step.isFixed) return values !== undefined;
  return step.name !== undefined && wordPattern.test(values[step.name] ?? '');
}

/**
 * The segment, marked as one that servers may read as each of its words: `me.json` as `me`. A
 * segment with letters beyond ASCII may be read as any text, because some servers fold such
 * letters.
 */
export function toUnclear(segment: Segment): Segment {
  const { foldedPlain } = segment;
  // oxlint-disable-next-line no-control-regex -- ASCII begins with control characters
  const isAscii = /^[\u0000-\u007f]*$/.test(foldedPlain);
  const words = new Set(foldedPlain.split(/[^\w-]+/));
  return {
    ...segment,
    mayBe: (text) =>
      !isAscii ||
      text === '' ||
      words.has(text) ||
      (!wordPattern.test(text) && foldedPlain.includes(text)),
  };
}

export function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}

export function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // Text that is not UTF-8 is compared without decoding.
  }
}
