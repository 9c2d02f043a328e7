import type { Meter, Observable, ObservableCallback } from '@opentelemetry/api';

import { durationBuckets, metricDefinitions } from './metric-definitions.ts';
import type { MetricDefinition, MetricName } from './metric-definitions.ts';

type Definitions = typeof metricDefinitions;
type NameOf<Kind extends MetricDefinition['kind']> = {
  [Name in MetricName]: Definitions[Name]['kind'] extends Kind ? Name : never;
}[MetricName];
export type GaugeWithoutLabels =
  | 'aag.approvals.waiting'
  | 'aag.approvals.oldest_age'
  | 'aag.webhook.due'
  | 'aag.webhook.lag';
export type Labels<Name extends MetricName> = Readonly<
  Record<Definitions[Name]['labels'][number], string | number>
>;
interface Observation<Name extends MetricName> {
  readonly value: number;
  readonly labels: Labels<Name>;
}

/** Adds to a counter or to a histogram. */
type AddValue = (value: number, labels: Readonly<Record<string, string | number>>) => void;
interface Instruments {
  readonly recorders: ReadonlyMap<MetricName, AddValue>;
  readonly observables: ReadonlyMap<MetricName, Observable>;
}

/** Undefined while metrics are off. */
let instruments: Instruments | undefined;

/**
 * Makes an instrument of each metric. Disposing the result turns metrics off. Only `startTelemetry`
 * calls this; components that run in one process share the instruments.
 */
export function createInstruments(meter: Meter): Disposable {
  const recorders = new Map<MetricName, AddValue>();
  const observables = new Map<MetricName, Observable>();
  const definitions: [string, MetricDefinition][] = Object.entries(metricDefinitions);
  for (const [key, { kind, unit, description }] of definitions) {
    const name = key as MetricName;
    const options = { unit, description };
    switch (kind) {
      case 'counter': {
        const counter = meter.createCounter(name, options);
        recorders.set(name, (value, labels) => counter.add(value, labels));
        break;
      }
      case 'histogram': {
        const advice = { explicitBucketBoundaries: [...durationBuckets] };
        const histogram = meter.createHistogram(name, { ...options, advice });
        recorders.set(name, (value, labels) => histogram.record(value, labels));
        break;
      }
      case 'gauge':
        observables.set(name, meter.createObservableGauge(name, options));
        break;
      case 'total':
        observables.set(name, meter.createObservableCounter(name, options));
        break;
    }
  }
  const ownInstruments: Instruments = { recorders, observables };
  instruments = ownInstruments;
  return {
    [Symbol.dispose]() {
      if (instruments === ownInstruments) instruments = undefined;
    },
  };
}

export function areMetricsOn(): boolean {
  return instruments !== undefined;
}

/** Adds one to a counter. */
export function count<Name extends NameOf<'counter'>>(name: Name, labels: Labels<Name>): void {
  instruments?.recorders.get(name)?.(1, labels);
}

/** The start time of something whose duration will be recorded; 0 while metrics are off. */
export function startDuration(): number {
  return instruments === undefined ? 0 : performance.now();
}

/** Records in a histogram how long something took that began at `startedAt`. */
export function recordDuration<Name extends NameOf<'histogram'>>(
  name: Name,
  startedAt: number,
  labels: Labels<Name>,
): void {
  if (instruments === undefined || startedAt === 0) return;
  instruments.recorders.get(name)?.((performance.now() - startedAt) / 1_000, labels);
}

/**
 * Calls `read` each time that the metrics are collected, until the result is disposed. `read` must
 * be quick: it returns values that are already known. A value that it no longer returns stays as it
 * was.
 */
export function observe<Name extends NameOf<'gauge' | 'total'>>(
  name: Name,
  read: () => readonly Observation<Name>[],
): Disposable {
  const observable = instruments?.observables.get(name);
  if (observable === undefined) return { [Symbol.dispose]() {} };
  const callback: ObservableCallback = (result) => {
    for (const { value, labels } of read()) result.observe(value, labels);
  };
  observable.addCallback(callback);
  return { [Symbol.dispose]: () => observable.removeCallback(callback) };
}
