export interface Cut {
  readonly text: string;
  /** Characters as a reader counts them that are not in `text`; 0 when nothing was cut. */
  readonly hidden: number;
  readonly total: number;
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The beginning of a long text: at most so many characters and lines, whole letters only. */
export function cutText(
  text: string,
  { charactersMax, linesMax }: { charactersMax: number; linesMax: number },
): Cut {
  const end = endOf(text, charactersMax, linesMax);
  // One more button for the last few characters would take more room than they do.
  if (end === text.length || text.length - end < 40) {
    return { text, hidden: 0, total: countCharacters(text) };
  }
  const total = countCharacters(text);
  const shown = text.slice(0, end);
  return { text: shown, hidden: total - countCharacters(shown), total };
}

/** Letters with their accents, and emoji, count once. */
function countCharacters(text: string): number {
  let count = 0;
  for (const _ of segmenter.segment(text)) count += 1;
  return count;
}

function endOf(text: string, charactersMax: number, linesMax: number): number {
  let lines = 1;
  let characters = 0;
  for (const { segment, index } of segmenter.segment(text)) {
    if (characters === charactersMax) return index;
    if (segment.includes('\n')) {
      if (lines === linesMax) return index;
      lines += 1;
    }
    characters += 1;
  }
  return text.length;
}
