import type { CompiledAction } from '../contracts/template.ts';

/**
 * Segments that the path of an operation may have. Published documents go up to 19; each request to
 * a host is compared with every segment of every operation there.
 */
export const segmentCountMax = 64;

/** A segment of a template's path, as it is compared without and with regard to letter case. */
export interface Step {
  readonly isFixed: boolean;
  /** A parameter that may hold `/`. */
  readonly isOpen: boolean;
  readonly exact: StepText;
  readonly folded: StepText;
  /** Of a segment with one parameter. */
  readonly name: string | undefined;
}

interface StepText {
  /** The whole segment where it has no parameter; else what stands before the first and after the last. */
  readonly first: string;
  readonly last: string;
}

/** A segment of a request's path, as it is written and as it is read. */
export interface Segment {
  readonly text: string;
  readonly plain: string;
  readonly folded: string;
  readonly foldedPlain: string;
}

export type Values = Readonly<Record<string, string>>;

/** How many segments a path has. Servers commonly overlook empty ones; denies that did not would be easy to get around. */
export function segmentsIn(path: string): number {
  let count = 0;
  let isInside = false;
  for (let at = 0; at < path.length; at += 1) {
    const isSlash = path.charCodeAt(at) === 0x2f;
    if (!isSlash && !isInside) count += 1;
    isInside = !isSlash;
  }
  return count;
}

export function readSteps({ path, params }: CompiledAction): Step[] {
  const open = new Set(
    params
      .filter((param) => param.in === 'path' && param.allowReserved)
      .map(({ name }) => `{${name}}`),
  );
  return segmentsOf(path).map((text) => {
    const isFixed = !text.includes('{');
    const folded = text.toLowerCase();
    const name = /^[^{]*\{([^{}]+)\}[^{]*$/.exec(text)?.[1];
    return { isFixed, isOpen: open.has(text), exact: endsOf(text), folded: endsOf(folded), name };
  });
}

export function readSegments(path: string): Segment[] {
  return segmentsOf(path).map((text) => {
    const plain = decodeText(text);
    return { text, plain, folded: text.toLowerCase(), foldedPlain: plain.toLowerCase() };
  });
}

/** `{owner}`, `{id}.json`, `{a}..{b}`: the text around must be there; a lone parameter also gets its value. */
export function matchSegment(step: Step, found: Segment, ignoresCase: boolean): Values | undefined {
  const { first, last } = ignoresCase ? step.folded : step.exact;
  // `x%3Acancel` is `x:cancel` to whoever decodes before it routes.
  const plain = ignoresCase ? found.foldedPlain : found.plain;
  if (step.isFixed) {
    const text = ignoresCase ? found.folded : found.text;
    return first === text || first === plain ? {} : undefined;
  }
  const isMatch =
    plain.length > first.length + last.length && plain.startsWith(first) && plain.endsWith(last);
  if (!isMatch) return undefined;
  if (step.name === undefined) return {};
  return { [step.name]: found.plain.slice(first.length, found.plain.length - last.length) };
}

export function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}

function endsOf(text: string): StepText {
  const texts = text.split(/\{[^{}]+\}/);
  return { first: texts[0] ?? '', last: texts.at(-1) ?? '' };
}

export function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // Not UTF-8: compared as it stands.
  }
}
