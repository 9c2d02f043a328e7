const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/**
 * The time left, rounded without being misleading: `2 days 3 h`, `23 h 41 min`, `12 min`, `4:07`.
 */
export function formatCountdown(leftMs: number): string {
  if (leftMs <= 0) return 'no time';
  if (leftMs >= 2 * dayMs) {
    const hours = Math.floor((leftMs % dayMs) / hourMs);
    return `${Math.floor(leftMs / dayMs)} days${hours > 0 ? ` ${hours} h` : ''}`;
  }
  if (leftMs >= hourMs) {
    const minutes = Math.floor((leftMs % hourMs) / minuteMs);
    return `${Math.floor(leftMs / hourMs)} h${minutes > 0 ? ` ${minutes} min` : ''}`;
  }
  if (leftMs >= 10 * minuteMs) return `${Math.floor(leftMs / minuteMs)} min`;
  const seconds = Math.ceil(leftMs / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** A time left whose text is at least as long as that of any other time with the same units. */
export function widestLeftMs(leftMs: number): number {
  if (leftMs >= 2 * dayMs) return leftMs - (leftMs % dayMs) + 23 * hourMs;
  return leftMs >= hourMs ? 23 * hourMs + 59 * minuteMs : 59 * minuteMs;
}

/** A time in milliseconds for which `formatAgo` returns its longest text in minutes. */
export const widestAgoMs = 59 * minuteMs;

/** How long ago something happened: `just now`, `5 min ago`, `3 h ago`, `2 days ago`. */
export function formatAgo(agoMs: number): string {
  if (agoMs < minuteMs) return 'just now';
  if (agoMs < hourMs) return `${Math.floor(agoMs / minuteMs)} min ago`;
  if (agoMs < 2 * dayMs) return `${Math.floor(agoMs / hourMs)} h ago`;
  return `${Math.floor(agoMs / dayMs)} days ago`;
}

/** A duration in a readable unit: `84 ms`, `1.2 s`. */
export function formatDuration(durationMs: number): string {
  if (durationMs < 1000) return `${Math.round(durationMs)} ms`;
  return `${(durationMs / 1000).toFixed(1)} s`;
}
