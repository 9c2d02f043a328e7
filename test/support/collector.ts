import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { startTelemetry } from '../../services-src/telemetry/index.ts';

/** A span in OTLP's JSON format, with the fields that tests read. */
export interface ReceivedSpan {
  readonly name: string;
  /**
   * The number that OTLP gives to the kind: internal 1, server 2, client 3, producer 4, consumer 5.
   */
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code?: number };
}
interface TraceExport {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes: ReceivedSpan['attributes'] };
    readonly scopeSpans?: readonly { readonly spans?: readonly ReceivedSpan[] }[];
  }[];
}

export interface Collector extends Disposable {
  readonly url: string;
  /** Every byte of telemetry received since the last reset, in order. */
  telemetry(): Buffer;
  /** The spans received since the last reset. */
  spans(): ReceivedSpan[];
  reset(): void;
}

/** Starts a collector of OpenTelemetry data on loopback that keeps everything it gets. */
export async function startCollector(): Promise<Collector> {
  let receivedRequests: { readonly path: string | undefined; readonly body: Buffer }[] = [];
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      receivedRequests.push({ path: request.url, body: Buffer.concat(chunks) });
      reply.setHeader('content-type', 'application/json').end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    telemetry: () => Buffer.concat(receivedRequests.map(({ body }) => body)),
    spans: () =>
      receivedRequests
        .filter(({ path }) => path === '/v1/traces')
        .flatMap(({ body }) => (JSON.parse(body.toString()) as TraceExport).resourceSpans ?? [])
        .flatMap(({ scopeSpans = [] }) => scopeSpans.flatMap(({ spans = [] }) => spans)),
    reset: () => void (receivedRequests = []),
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/**
 * Runs `work` while this process exports traces, and returns the spans that a collector received.
 * Of the work that does not continue a caller's trace, only the fraction `sampleRatio` is traced.
 */
export async function collectSpans(
  work: () => Promise<unknown>,
  { sampleRatio = 1 } = {},
): Promise<ReceivedSpan[]> {
  using collector = await startCollector();
  {
    await using _telemetry = await startTelemetry({
      serviceName: 'test',
      endpoint: collector.url,
      sampleRatio,
      metricsExporters: [],
    });
    await work();
  }
  return collector.spans();
}

/** The values of a span's attributes by the attributes' names. */
export function attributesOf({ attributes }: Pick<ReceivedSpan, 'attributes'>) {
  return Object.fromEntries(
    attributes.map(({ key, value }): [string, unknown] => [key, Object.values(value)[0]]),
  );
}
