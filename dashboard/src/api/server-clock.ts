let offsetMs = 0;

/**
 * Stores how far the gateway's time differs from the browser's. Countdowns use the gateway's time,
 * because the clock of a phone may be wrong by minutes.
 */
export function noteServerTime(date: string | null): void {
  const serverMs = Date.parse(date ?? '');
  if (Number.isNaN(serverMs)) return;
  const offset = serverMs - Date.now();
  // The `Date` header contains whole seconds, so a difference below two seconds is ignored.
  offsetMs = Math.abs(offset) < 2000 ? 0 : offset;
}

export function serverNowMs(): number {
  return Date.now() + offsetMs;
}
