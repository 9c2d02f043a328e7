import { buildsEmoji, hiddenCharacters } from '#hidden-characters';

/** A piece of text as it may be shown: as it is, or the name of what could not be seen. */
export interface Segment {
  readonly kind: 'text' | 'mark';
  readonly text: string;
}

/** What nobody sees, control characters and half surrogates: of the last two no text shows what they are. */
const unseen = new RegExp(`[\\p{Cc}\\p{Cs}${hiddenCharacters}]`, 'u');

/** More accents on one letter than any language stacks: they would climb over the lines around. */
const accentsMax = 4;

const accents = new RegExp(`(?<=\\p{M}{${accentsMax}})\\p{M}+`, 'u');
const candidates = new RegExp(`${unseen.source}|${accents.source}`, 'gu');

const names: Readonly<Record<number, string>> = {
  0x09: 'TAB',
  0x0a: 'NEW LINE',
  0x0d: 'CR',
  0x1b: 'ESC',
  0x00: 'NUL',
};

/**
 * Splits text so that every character that could hide something is named
 * (docs/reference/approvals.md#the-card). Joined together, the plain segments are the input without those characters.
 * `multiline` leaves line breaks and tabs as they are, for places that show them.
 */
export function visibleSegments(given: string, { multiline = false } = {}): Segment[] {
  const text = multiline ? given.replaceAll('\r\n', '\n') : given;
  const segments: Segment[] = [];
  let start = 0;
  for (const { 0: found, index } of text.matchAll(candidates)) {
    if (multiline && (found === '\n' || found === '\t')) continue;
    if (buildsEmoji(text, found, index)) continue;
    if (index > start) segments.push({ kind: 'text', text: text.slice(start, index) });
    segments.push({ kind: 'mark', text: nameOf(found) });
    start = index + found.length;
  }
  if (start < text.length) segments.push({ kind: 'text', text: text.slice(start) });
  return merge(segments);
}

/** The same as one string, for titles and announcements: `⟨U+202E⟩`. */
export function visibleText(text: string): string {
  return visibleSegments(text)
    .map(({ kind, text: shown }) => (kind === 'mark' ? `⟨${shown}⟩` : shown))
    .join('');
}

function nameOf(found: string): string {
  const codePoint = found.codePointAt(0) ?? 0;
  if (/^\p{M}/u.test(found) && !unseen.test(found)) {
    return `+${Array.from(found).length} accents`;
  }
  return names[codePoint] ?? `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** A run of the same mark becomes one, so that ten thousand of them stay one thing to look at. */
function merge(segments: readonly Segment[]): Segment[] {
  const merged: Segment[] = [];
  for (let at = 0; at < segments.length;) {
    const segment = segments[at] as Segment;
    let end = at + 1;
    while (segment.kind === 'mark' && isSame(segments[end], segment)) end += 1;
    const count = end - at;
    merged.push(count === 1 ? segment : { kind: 'mark', text: `${segment.text} ×${count}` });
    at = end;
  }
  return merged;
}

function isSame(one: Segment | undefined, other: Segment): boolean {
  return one?.kind === other.kind && one.text === other.text;
}
