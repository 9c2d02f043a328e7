import type { HttpMethod } from '#contracts/vocabulary';

const safeMethods = new Set<HttpMethod>(['GET', 'HEAD', 'OPTIONS']);

/** Decisions: Words, non-read. The permit says it too; whoever says yes wins. */
export function isNonRead(method: HttpMethod, permitSaysSo: boolean): boolean {
  return permitSaysSo || !safeMethods.has(method);
}

export const retriesMax = 2;

/** How long to wait before sending a read again; undefined when it is not worth it any more. `jitter` is 0 to 1. */
export function retryDelayMs({
  code,
  attempt,
  remainingMs,
  jitter,
}: {
  code: string;
  /** Of those already made, from 1. */
  attempt: number;
  remainingMs: number;
  jitter: number;
}): number | undefined {
  if (code !== 'upstream_unreachable' || attempt > retriesMax) return undefined;
  const delayMs = 50 * 3 ** (attempt - 1) * (0.5 + jitter);
  return delayMs < remainingMs ? delayMs : undefined;
}
