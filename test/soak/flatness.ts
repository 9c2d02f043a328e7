/** The measured values of one quantity, ordered by time. */
export type Series = readonly number[];

/** How much a quantity may grow from the third quarter of the run to the last quarter. */
export interface Tolerance {
  readonly factor: number;
  readonly slack: number;
  /**
   * Which value of a quarter is compared. For memory it is the lowest value: garbage is collected
   * only now and then, and the lowest value is closest to the memory in use.
   */
  readonly by: 'highest' | 'lowest';
}

export interface Verdict {
  readonly name: string;
  readonly thirdQuarter: number;
  readonly lastQuarter: number;
  readonly isFlat: boolean;
}

/**
 * Compares one value of the last quarter of a run with one value of the quarter before. The first
 * half is left out, because caches and tables fill up in it. Only the highest or the lowest value
 * of a quarter counts, because the quantity goes up and down when rows are deleted and garbage is
 * collected.
 */
export function judgeFlatness(
  name: string,
  series: Series,
  { factor, slack, by }: Tolerance,
): Verdict {
  const extremeOf = by === 'highest' ? Math.max : Math.min;
  const quarterLength = Math.floor(series.length / 4);
  const thirdQuarter = extremeOf(...series.slice(-2 * quarterLength, -quarterLength));
  const lastQuarter = extremeOf(...series.slice(-quarterLength));
  return { name, thirdQuarter, lastQuarter, isFlat: lastQuarter <= thirdQuarter * factor + slack };
}
