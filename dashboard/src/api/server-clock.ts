let offsetMs = 0;

/** Countdowns run by the gateway's clock: a phone that is minutes off would show another deadline. */
export function noteServerTime(date: string | null): void {
  const serverMs = Date.parse(date ?? '');
  if (Number.isNaN(serverMs)) return;
  const offset = serverMs - Date.now();
  // The header has whole seconds; less than two of them says nothing.
  offsetMs = Math.abs(offset) < 2000 ? 0 : offset;
}

export function serverNowMs(): number {
  return Date.now() + offsetMs;
}
