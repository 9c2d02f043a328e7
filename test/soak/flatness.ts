/** The measured values of one quantity, in the order of time. */
export type Series = readonly number[];

/** How much a quantity may grow from the third quarter of the run to the last one. */
export interface Tolerance {
  readonly factor: number;
  readonly slack: number;
  /**
   * Which value of a quarter counts. Memory is judged by the lowest, which is closest to what is in
   * use: garbage is collected now and then.
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
 * Compares one value of the last quarter of a run with that of the quarter before. The first half is
 * left out, because caches and tables fill in it. One value stands for a quarter, because what is
 * pruned or collected goes up and down.
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
