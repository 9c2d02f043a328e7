import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

import type { MetricReader } from '@opentelemetry/sdk-metrics';
import type { Resource } from '@opentelemetry/resources';

import { createInstruments } from './metrics.ts';
import { observeProcess } from './process-metrics.ts';

export interface TelemetryOptions {
  readonly serviceName: string;
  /** Attributes of the process, which replace those that it gives itself. */
  readonly resourceAttributes?: Readonly<Record<string, string>> | undefined;
  /** The address of an OTLP collector, for traces and, with `otlp`, for metrics. */
  readonly endpoint: string | undefined;
  /** Of the calls that arrive without a sampling decision, the fraction that is sampled: 0 to 1. */
  readonly sampleRatio: number;
  /** Where metrics are exported. Without an endpoint, `otlp` has no effect. */
  readonly metricsExporters: readonly ('otlp' | 'prometheus')[];
}

export interface Telemetry extends AsyncDisposable {
  /**
   * The metrics in Prometheus's text format; undefined when they are not exported to Prometheus.
   */
  readonly renderMetrics?: () => Promise<string>;
}

const exportEveryMs = 15_000;

/**
 * Starts exporting traces and metrics. When neither is wanted, it does not even load the SDK.
 *
 * The code starts spans explicitly where they matter: automatic HTTP instrumentation would reduce
 * the throughput of a trivial route by three quarters.
 */
export async function startTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const { endpoint, metricsExporters } = options;
  await using startup = new AsyncDisposableStack();
  const isPrometheusOn = metricsExporters.includes('prometheus');
  if (endpoint === undefined && !isPrometheusOn) return startup.move();

  const resource = await describeProcess(options);
  const baseUrl = endpoint?.replace(/\/$/, '');
  if (baseUrl !== undefined) startup.use(await startTraces(resource, { ...options, baseUrl }));
  const prometheus = isPrometheusOn ? await createPrometheusReader() : undefined;
  const readers: MetricReader[] = prometheus === undefined ? [] : [prometheus.reader];
  if (baseUrl !== undefined && metricsExporters.includes('otlp')) {
    readers.push(await createOtlpReader(baseUrl));
  }
  if (readers.length > 0) startup.use(await startMetrics(resource, readers));
  const running = startup.move();
  return {
    ...(prometheus !== undefined && { renderMetrics: prometheus.render }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function describeProcess({
  serviceName,
  resourceAttributes,
}: TelemetryOptions): Promise<Resource> {
  const { resourceFromAttributes } = await import('@opentelemetry/resources');
  const { version } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as { version: string };
  return resourceFromAttributes({
    'service.name': serviceName,
    'service.version': version,
    'service.instance.id': `${hostname()}:${process.pid}`,
    ...resourceAttributes,
  });
}

async function startTraces(
  resource: Resource,
  { baseUrl, sampleRatio }: { baseUrl: string; sampleRatio: number },
): Promise<AsyncDisposable> {
  const [api, { W3CTraceContextPropagator }, hooks, traceSdk, { OTLPTraceExporter }] =
    await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/core'),
      import('@opentelemetry/context-async-hooks'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ]);
  api.context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager().enable());
  api.propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  const tracerProvider = new traceSdk.TracerProvider({
    resource,
    sampler: new traceSdk.ParentBasedSampler({
      root: new traceSdk.TraceIdRatioBasedSampler(sampleRatio),
    }),
    spanProcessors: [
      new traceSdk.BatchSpanProcessor({
        exporter: new OTLPTraceExporter({ url: `${baseUrl}/v1/traces` }),
      }),
    ],
  });
  api.trace.setGlobalTracerProvider(tracerProvider);
  return {
    async [Symbol.asyncDispose]() {
      for (const part of [api.trace, api.context, api.propagation]) part.disable();
      // An unreachable collector must not prevent the process from stopping.
      await tracerProvider.shutdown().catch(() => undefined);
    },
  };
}

async function startMetrics(
  resource: Resource,
  readers: readonly MetricReader[],
): Promise<AsyncDisposable> {
  const { MeterProvider } = await import('@opentelemetry/sdk-metrics');
  const meterProvider = new MeterProvider({ resource, readers: [...readers] });
  const instruments = createInstruments(meterProvider.getMeter('agent-action-gateway'));
  const processMetrics = observeProcess();
  return {
    async [Symbol.asyncDispose]() {
      await meterProvider.shutdown().catch(() => undefined);
      processMetrics[Symbol.dispose]();
      instruments[Symbol.dispose]();
    },
  };
}

async function createOtlpReader(baseUrl: string): Promise<MetricReader> {
  const [{ PeriodicExportingMetricReader }, { OTLPMetricExporter }] = await Promise.all([
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/exporter-metrics-otlp-http'),
  ]);
  return new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter({ url: `${baseUrl}/v1/metrics` }),
    exportIntervalMillis: exportEveryMs,
  });
}

async function createPrometheusReader(): Promise<{
  reader: MetricReader;
  render: () => Promise<string>;
}> {
  const { PrometheusExporter, PrometheusSerializer } =
    await import('@opentelemetry/exporter-prometheus');
  const reader = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer(
    undefined,
    false,
    undefined,
    false,
    true, // Leaves out the scope, which is the same for all metrics.
  );
  let rendering: Promise<string> | undefined;
  const render = async () => serializer.serialize((await reader.collect()).resourceMetrics);
  return {
    reader,
    // Scrapes that come at the same time share one collection.
    render: () => (rendering ??= render().finally(() => (rendering = undefined))),
  };
}
