/**
 * Starts exporting traces and metrics over OTLP when an endpoint is set. Without an endpoint it
 * does not even load the SDK.
 *
 * The code starts spans explicitly where they matter: automatic HTTP instrumentation would reduce
 * the throughput of a trivial route by three quarters.
 */
export async function startTelemetry({
  serviceName,
  endpoint,
  sampleRatio,
}: {
  serviceName: string;
  endpoint: string | undefined;
  /** From 0 to 1: the fraction sampled of the calls that arrive without a sampling decision. */
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
  const baseUrl = endpoint.replace(/\/$/, '');

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
        exporter: new traceExport.OTLPTraceExporter({ url: `${baseUrl}/v1/traces` }),
      }),
    ],
  });
  api.trace.setGlobalTracerProvider(tracerProvider);

  const meterProvider = new metricsSdk.MeterProvider({
    resource,
    readers: [
      new metricsSdk.PeriodicExportingMetricReader({
        exporter: new metricExport.OTLPMetricExporter({ url: `${baseUrl}/v1/metrics` }),
        exportIntervalMillis: 15_000,
      }),
    ],
  });
  api.metrics.setGlobalMeterProvider(meterProvider);

  return {
    async [Symbol.asyncDispose]() {
      // An unreachable collector must not prevent the process from stopping.
      await Promise.allSettled([tracerProvider.shutdown(), meterProvider.shutdown()]);
    },
  };
}
