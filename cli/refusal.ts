/** A foreseen reason to stop. Its message says what to do and is shown as it is, without a stack. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** What went wrong beneath, in a few words: `ECONNREFUSED`, `certificate has expired`. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  return (error as NodeJS.ErrnoException).code ?? error.message;
}
