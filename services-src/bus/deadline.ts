/**
 * The moment by which the original caller needs its answer, passed along every hop of one request.
 */
export interface Deadline {
  /**
   * Aborts when the time is up. The signal is created on first use, because most requests never
   * need its timer.
   */
  readonly signal: AbortSignal;
  remainingMs(): number;
}

export function deadlineIn(timeoutMs: number): Deadline {
  const expiresAt = performance.now() + timeoutMs;
  let signal: AbortSignal | undefined;
  return {
    get signal() {
      signal ??= AbortSignal.timeout(Math.max(0, Math.ceil(expiresAt - performance.now())));
      return signal;
    },
    remainingMs: () => Math.max(0, Math.floor(expiresAt - performance.now())),
  };
}
