export interface CutText {
  readonly text: string;
  /**
   * The number of characters that were cut off, counted as people count them; 0 when nothing was
   * cut off.
   */
  readonly hidden: number;
  readonly total: number;
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * The beginning of a long text: at most the given number of characters and lines. The cut is never
 * within a letter.
 */
export function cutText(
  text: string,
  { charactersMax, linesMax }: { charactersMax: number; linesMax: number },
): CutText {
  const end = findCutIndex(text, charactersMax, linesMax);
  // The button that shows the rest would take more room than a few last characters, so these are
  // kept.
  if (end === text.length || text.length - end < 40) {
    return { text, hidden: 0, total: countCharacters(text) };
  }
  const totalCharacters = countCharacters(text);
  const shownText = text.slice(0, end);
  return {
    text: shownText,
    hidden: totalCharacters - countCharacters(shownText),
    total: totalCharacters,
  };
}

/** Counts a letter with its accents, or an emoji, as one character. */
function countCharacters(text: string): number {
  let count = 0;
  for (const _ of segmenter.segment(text)) count += 1;
  return count;
}

function findCutIndex(text: string, charactersMax: number, linesMax: number): number {
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
