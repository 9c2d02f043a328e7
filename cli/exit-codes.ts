/**
 * The exit codes of the program. Scripts depend on these numbers, so none of them ever changes its
 * meaning. docs/cli.md lists them for users.
 */
export const exitCodes = {
  done: 0,
  /**
   * The command failed. With `call` and `http`, the failure may be a refusal by the service that
   * was called.
   */
  failed: 1,
  /** The command line is wrong; nothing was done. */
  usage: 2,
  /** There is no valid login or agent key. */
  notSignedIn: 3,
  /** A rule or a person refused the command, or a permission is missing. */
  denied: 4,
  /** The call waits for the approval of a person. */
  waiting: 5,
  /** The gateway did not answer, or is not ready, and nothing was done. */
  unreachable: 6,
  /** The answer is lost: what was asked for may have been done. */
  unknown: 7,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/**
 * The error codes that `--json` prints when the error does not come from the gateway. Where the
 * gateway has an error with the same meaning, its code is used (docs/reference/errors.md#codes).
 */
export const errorCodes: Partial<Record<ExitCode, string>> = {
  [exitCodes.usage]: 'usage',
  [exitCodes.notSignedIn]: 'unauthenticated',
  [exitCodes.unreachable]: 'unavailable',
  [exitCodes.unknown]: 'outcome_unknown',
};
