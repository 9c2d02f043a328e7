let offsetMs = 0;

/**
 * Notes the gateway's time for countdowns, which would be wrong by the clock of a phone that is
 * minutes off.
 */
export function noteServerTime(date: string | null): void {
  const serverMs = Date.parse(date ?? '');
  if (Number.isNaN(serverMs)) return;
  const offset = serverMs - Date.now();
  // The `Date` header has whole seconds, so a difference below two seconds means nothing.
  offsetMs = Math.abs(offset) < 2000 ? 0 : offset;
}

export function serverNowMs(): number {
  return Date.now() + offsetMs;
}
