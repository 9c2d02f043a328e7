/**
 * Starts exporting traces and metrics over OTLP when an endpoint is set, and does nothing
 * otherwise: the SDK is not even loaded.
 *
 * Spans are made by hand at the places that matter; automatic HTTP instrumentation costs a
 * trivial route three quarters of its throughput.
 */
export async function startTelemetry({
  serviceName,
  endpoint,
  sampleRatio,
}: {
  serviceName: string;
  endpoint: string | undefined;
  /** 0 to 1, of calls that arrive without a sampling decision of their own. */
  sampleRatio: number;
}): Promise<AsyncDisposable> {
  if (endpoint === undefined) return { async [Symbol.asyncDispose]() {} };

  const [api, hooks, resources, traceSdk, metricsSdk, traceExport, metricExport] =
    await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/context-async-hooks'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/sdk-metrics'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/exporter-metrics-otlp-http'),
    ]);
  const resource = resources.resourceFromAttributes({ 'service.name': serviceName });
  const base = endpoint.replace(/\/$/, '');

  api.context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager().enable());
  const { W3CTraceContextPropagator } = await import('@opentelemetry/core');
  api.propagation.setGlobalPropagator(new W3CTraceContextPropagator());

  const tracerProvider = new traceSdk.TracerProvider({
    resource,
    sampler: new traceSdk.ParentBasedSampler({
      root: new traceSdk.TraceIdRatioBasedSampler(sampleRatio),
    }),
    spanProcessors: [
      new traceSdk.BatchSpanProcessor({
        exporter: new traceExport.OTLPTraceExporter({ url: `${base}/v1/traces` }),
      }),
    ],
  });
  api.trace.setGlobalTracerProvider(tracerProvider);

  const meterProvider = new metricsSdk.MeterProvider({
    resource,
    readers: [
      new metricsSdk.PeriodicExportingMetricReader({
        exporter: new metricExport.OTLPMetricExporter({ url: `${base}/v1/metrics` }),
        exportIntervalMillis: 15_000,
      }),
    ],
  });
  api.metrics.setGlobalMeterProvider(meterProvider);

  return {
    async [Symbol.asyncDispose]() {
      // A collector that is gone must not keep us from stopping.
      await Promise.allSettled([tracerProvider.shutdown(), meterProvider.shutdown()]);
    },
  };
}
