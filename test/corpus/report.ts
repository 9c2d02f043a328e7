/** Counts how often each name occurs, and lists the most frequent one first. */
export function countNames(names: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].toSorted(([, a], [, b]) => b - a);
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
}

export function printTable(title: string, rows: readonly (readonly [string, number])[]): void {
  const width = Math.max(0, ...rows.map(([name]) => name.length));
  console.log(`\n${title}`);
  for (const [name, value] of rows)
    console.log(`  ${name.padEnd(width)}  ${String(value).padStart(7)}`);
}
