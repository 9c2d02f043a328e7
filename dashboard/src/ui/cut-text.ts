export interface CutText {
  readonly text: string;
  /** The number of hidden characters, counted as people count them. 0 if nothing is hidden. */
  readonly hidden: number;
  readonly total: number;
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * The beginning of a long text, with at most the given number of characters and lines. A letter
 * with its accents is never split.
 */
export function cutText(
  text: string,
  { charactersMax, linesMax }: { charactersMax: number; linesMax: number },
): CutText {
  const end = findCutIndex(text, charactersMax, linesMax);
  // A few last characters are kept, because the button that shows the rest would take more room.
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
