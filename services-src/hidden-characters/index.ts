/**
 * Characters that nobody sees, that turn the text beside them about, or that look like others: format
 * characters (bidirectional, zero width, tags), line and paragraph separators, fillers, variation
 * selectors, private use, and spaces that are no plain ones. For a character class of a regular
 * expression with the flag `u`; control characters and half surrogates are named beside it.
 */
export const hiddenCharacters = String.raw`\p{Cf}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u1680\u2000-\u200a\u202f\u205f\u2800\u3000`;

/** Whether a joiner or variation selector stands where it builds an emoji: there it is seen as what it builds. */
export function buildsEmoji(text: string, character: string, at: number): boolean {
  if (character === '\ufe0f') {
    return /(\p{Extended_Pictographic}|[0-9#*])$/u.test(text.slice(Math.max(0, at - 3), at));
  }
  if (character !== '\u200d') return false;
  const [before, after] = [text.slice(Math.max(0, at - 5), at), text.slice(at + 1, at + 3)];
  return (
    /\p{Extended_Pictographic}(\ufe0f|\p{Emoji_Modifier})?$/u.test(before) &&
    /^\p{Extended_Pictographic}/u.test(after)
  );
}
