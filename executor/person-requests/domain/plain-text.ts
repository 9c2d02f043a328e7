import { isPartOfEmoji, hiddenCharacters } from '#hidden-characters';
import { AppError } from '#errors';

const hiddenPattern = new RegExp(`[${hiddenCharacters}]`, 'gu');

/** Refuses characters that a person would not see, or that change the order of the visible text. */
export function requirePlainText(field: string, text: string | undefined): void {
  if (text === undefined) return;
  const hiddenMatches = [...text.matchAll(hiddenPattern)];
  const isPlain = hiddenMatches.every(({ 0: character, index }) =>
    isPartOfEmoji(text, character, index),
  );
  if (isPlain && text.isWellFormed()) return;
  const message = 'must be plain text: it contains invisible characters';
  throw new AppError('invalid_params', `The ${field} ${message}.`, {
    details: { issues: [{ path: field, message }] },
  });
}
