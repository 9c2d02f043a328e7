import { isPartOfEmoji, hiddenCharacters } from '#hidden-characters';

/** A piece of text for display: plain text, or the name of an invisible character. */
export interface Segment {
  readonly kind: 'text' | 'mark';
  readonly text: string;
}

/**
 * Matches characters that have no visible form: hidden characters, control characters and half
 * surrogates.
 */
const invisiblePattern = new RegExp(`[\\p{Cc}\\p{Cs}${hiddenCharacters}]`, 'u');

/**
 * The most accents that are shown on one letter. No language uses more, and a pile of accents would
 * cover the lines above and below.
 */
const accentsMax = 4;

const excessAccentsPattern = new RegExp(`(?<=\\p{M}{${accentsMax}})\\p{M}+`, 'u');
const markedPattern = new RegExp(`${invisiblePattern.source}|${excessAccentsPattern.source}`, 'gu');

const characterNames: Readonly<Record<number, string>> = {
  0x09: 'TAB',
  0x0a: 'NEW LINE',
  0x0d: 'CR',
  0x1b: 'ESC',
  0x00: 'NUL',
};

/**
 * Splits text into plain segments and the names of characters that could hide something
 * (docs/reference/approvals.md#the-card). Joined, the plain segments are the text without those
 * characters. With `multiline`, line breaks and tabs are kept, for parts of the page that show
 * several lines.
 */
export function toVisibleSegments(agentText: string, { multiline = false } = {}): Segment[] {
  const text = multiline ? agentText.replaceAll('\r\n', '\n') : agentText;
  const segments: Segment[] = [];
  let start = 0;
  for (const { 0: matchedText, index } of text.matchAll(markedPattern)) {
    if (multiline && (matchedText === '\n' || matchedText === '\t')) continue;
    if (isPartOfEmoji(text, matchedText, index)) continue;
    if (index > start) segments.push({ kind: 'text', text: text.slice(start, index) });
    segments.push({ kind: 'mark', text: markTextOf(matchedText) });
    start = index + matchedText.length;
  }
  if (start < text.length) segments.push({ kind: 'text', text: text.slice(start) });
  return mergeRuns(segments);
}

/**
 * The text as one string, with names such as `⟨U+202E⟩` for invisible characters. It is for titles
 * and announcements.
 */
export function toVisibleText(text: string): string {
  return toVisibleSegments(text)
    .map(({ kind, text: shown }) => (kind === 'mark' ? `⟨${shown}⟩` : shown))
    .join('');
}

function markTextOf(character: string): string {
  const codePoint = character.codePointAt(0) ?? 0;
  if (/^\p{M}/u.test(character) && !invisiblePattern.test(character)) {
    return `+${Array.from(character).length} accents`;
  }
  return characterNames[codePoint] ?? `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`;
}

/**
 * Merges a run of the same invisible character into one segment, so that ten thousand of them take
 * one line.
 */
function mergeRuns(segments: readonly Segment[]): Segment[] {
  const mergedSegments: Segment[] = [];
  for (let index = 0; index < segments.length;) {
    const segment = segments[index] as Segment;
    let end = index + 1;
    while (segment.kind === 'mark' && isSame(segments[end], segment)) end += 1;
    const count = end - index;
    mergedSegments.push(
      count === 1 ? segment : { kind: 'mark', text: `${segment.text} ×${count}` },
    );
    index = end;
  }
  return mergedSegments;
}

function isSame(left: Segment | undefined, right: Segment): boolean {
  return left?.kind === right.kind && left.text === right.text;
}
