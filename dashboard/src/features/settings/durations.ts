const units = [
  { seconds: 86_400, one: 'day', many: 'days' },
  { seconds: 3_600, one: 'hour', many: 'hours' },
  { seconds: 60, one: 'minute', many: 'minutes' },
  { seconds: 1, one: 'second', many: 'seconds' },
] as const;

/** A duration in its largest units: `1 day`, `12 hours`, `1 hour 30 minutes`. */
export function formatSeconds(seconds: number): string {
  let rest = seconds;
  const parts: string[] = [];
  for (const unit of units) {
    const count = Math.floor(rest / unit.seconds);
    rest -= count * unit.seconds;
    if (count > 0) parts.push(`${count} ${count === 1 ? unit.one : unit.many}`);
  }
  return parts.length === 0 ? 'no time' : parts.join(' ');
}

/**
 * The choices for a duration in ascending order. They include the current value, even if it is
 * unusual.
 */
export function durationsWith(current: number, usual: readonly number[]): number[] {
  return [...new Set([...usual, current])].toSorted((one, other) => one - other);
}
