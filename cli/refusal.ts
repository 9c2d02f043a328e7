import { exitCodes } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';

/**
 * A foreseen reason to stop. The message says what to do. The CLI prints the message without a
 * stack trace, and exits with the exit code.
 */
export class Refusal extends Error {
  override readonly name: string = 'Refusal';
  readonly exitCode: ExitCode;
  /** The error object from the gateway, if the gateway has refused. */
  readonly envelope?: object;

  constructor(
    message: string,
    { cause, exitCode = exitCodes.failed }: { cause?: unknown; exitCode?: ExitCode } = {},
  ) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}

/** A refusal for a wrong command line; nothing was done. */
export function misuse(message: string): Refusal {
  return new Refusal(message, { exitCode: exitCodes.usage });
}

/** The cause of an error in a few words, such as `ECONNREFUSED` or `certificate has expired`. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  return (error as NodeJS.ErrnoException).code ?? error.message;
}
