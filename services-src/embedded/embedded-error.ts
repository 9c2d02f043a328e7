/**
 * A foreseen reason why an embedded server cannot start.
 *
 * The message is for the person at the terminal and says what to do; print it without a stack.
 */
export class EmbeddedError extends Error {
  override readonly name = 'EmbeddedError';
}
