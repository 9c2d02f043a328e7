/**
 * A foreseen reason to stop. The message says what to do; the CLI prints it without a stack trace.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** The cause of an error in a few words: `ECONNREFUSED`, `certificate has expired`. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  return (error as NodeJS.ErrnoException).code ?? error.message;
}
