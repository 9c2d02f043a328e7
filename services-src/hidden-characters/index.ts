/**
 * Characters that are invisible, that reorder the text beside them, or that look like others:
 * format characters (bidirectional, zero width, tags), line and paragraph separators, fillers,
 * variation selectors, private use, unusual spaces, and letters and notes that are drawn as nothing. For use in a character class of a regular
 * expression with the flag `u`. Control characters and lone surrogates are not included.
 */
export const hiddenCharacters = String.raw`\p{Cf}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\u{1d159}\u{13441}\u{13442}`;

/** Whether a joiner or variation selector is part of an emoji, and so has a visible effect. */
export function isPartOfEmoji(text: string, character: string, index: number): boolean {
  if (character === '\ufe0f') {
    return /(\p{Extended_Pictographic}|[0-9#*])$/u.test(text.slice(Math.max(0, index - 3), index));
  }
  if (character !== '\u200d') return false;
  const [before, after] = [
    text.slice(Math.max(0, index - 5), index),
    text.slice(index + 1, index + 3),
  ];
  return (
    /\p{Extended_Pictographic}(\ufe0f|\p{Emoji_Modifier})?$/u.test(before) &&
    /^\p{Extended_Pictographic}/u.test(after)
  );
}
