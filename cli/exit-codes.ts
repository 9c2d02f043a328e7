/**
 * What the program's exit code says. Scripts depend on these numbers, so none of them ever changes
 * its meaning. docs/cli.md lists them for users.
 */
export const exitCodes = {
  done: 0,
  /** The command failed. With `call` and `http`, the service that was called may have refused. */
  failed: 1,
  /** The command line is wrong; nothing was done. */
  usage: 2,
  /** There is no valid login or agent key. */
  notSignedIn: 3,
  /** A rule, a person or a missing permission refused it. */
  denied: 4,
  /** The call waits for the approval of a person. */
  waiting: 5,
  /** The gateway did not answer, or is not ready. */
  unreachable: 6,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/**
 * The code of an error that `--json` prints, where the gateway has answered none. The codes are
 * those of the gateway's own errors, as far as it has them (docs/reference/errors.md#codes).
 */
export const errorCodes: Partial<Record<ExitCode, string>> = {
  [exitCodes.usage]: 'usage',
  [exitCodes.notSignedIn]: 'unauthenticated',
  [exitCodes.unreachable]: 'unavailable',
};
