import { exitCodes } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';

/**
 * A foreseen reason to stop. The message says what to do; the CLI prints it without a stack trace
 * and exits with the code.
 */
export class Refusal extends Error {
  override readonly name: string = 'Refusal';
  readonly exitCode: ExitCode;
  /** The error as the gateway answered it, if it did. */
  readonly envelope?: object;

  constructor(
    message: string,
    { cause, exitCode = exitCodes.failed }: { cause?: unknown; exitCode?: ExitCode } = {},
  ) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}

/** A command line that makes no sense; nothing was done. */
export function misuse(message: string): Refusal {
  return new Refusal(message, { exitCode: exitCodes.usage });
}

/** The cause of an error in a few words: `ECONNREFUSED`, `certificate has expired`. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  return (error as NodeJS.ErrnoException).code ?? error.message;
}
