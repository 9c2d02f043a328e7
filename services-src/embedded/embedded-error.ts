/**
 * A foreseen reason why an embedded server cannot start.
 *
 * The message is a sentence for the person at the terminal and says what to do;
 * print it alone, without a stack.
 */
export class EmbeddedError extends Error {
  override readonly name = 'EmbeddedError';
}
