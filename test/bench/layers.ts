import type { ReceivedSpan } from '../support/collector.ts';

/** The median duration in milliseconds and the number of spans, by the span's name. */
export function mediansOf(
  spans: readonly ReceivedSpan[],
): Map<string, { medianMs: number; count: number }> {
  const spansByName = Map.groupBy(spans, ({ name }) => name);
  return new Map(
    [...spansByName].map(([name, ofName]) => {
      const durations = ofName
        .map((span) => Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6)
        .toSorted((a, b) => a - b);
      const medianMs = durations[Math.floor(durations.length / 2)] ?? 0;
      return [name, { medianMs, count: durations.length }];
    }),
  );
}
