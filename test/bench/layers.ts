import type { ReceivedSpan } from '../support/collector.ts';

/** For each span name: the median duration in milliseconds, and the number of spans. */
export function mediansOf(
  spans: readonly ReceivedSpan[],
): Map<string, { medianMs: number; count: number }> {
  const spansByName = Map.groupBy(spans, ({ name }) => name);
  return new Map(
    [...spansByName].map(([name, spansOfName]) => {
      const durations = spansOfName
        .map((span) => Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6)
        .toSorted((a, b) => a - b);
      const medianMs = durations[Math.floor(durations.length / 2)] ?? 0;
      return [name, { medianMs, count: durations.length }];
    }),
  );
}
