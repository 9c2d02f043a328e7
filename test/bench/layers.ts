import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface OtlpSpan {
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
}
interface OtlpBody {
  resourceSpans?: { scopeSpans?: { spans?: OtlpSpan[] }[] }[];
}

/**
 * A collector of OpenTelemetry data that keeps only the duration of each span, by the span's name.
 */
export interface Collector extends Disposable {
  readonly url: string;
  /** The median duration in milliseconds and the number of spans, by the span's name. */
  medians(): Map<string, { medianMs: number; count: number }>;
  reset(): void;
}

export async function startCollector(): Promise<Collector> {
  const durations = new Map<string, number[]>();
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url === '/v1/traces') recordSpans(JSON.parse(Buffer.concat(chunks).toString()));
      reply.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  const recordSpans = (body: OtlpBody) => {
    const spans = (body.resourceSpans ?? []).flatMap((resource) =>
      (resource.scopeSpans ?? []).flatMap((scope) => scope.spans ?? []),
    );
    for (const span of spans) {
      const ms = Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6;
      durations.set(span.name, [...(durations.get(span.name) ?? []), ms]);
    }
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    medians: () =>
      new Map(
        [...durations].map(([name, all]) => {
          const medianMs = all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
          return [name, { medianMs, count: all.length }];
        }),
      ),
    reset: () => durations.clear(),
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
