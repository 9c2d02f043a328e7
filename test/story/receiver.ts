import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Delivered {
  readonly id: string;
  readonly type: string;
  readonly data: any; // eslint-disable-line typescript/no-explicit-any -- looked at field by field
}

export interface Receiver extends Disposable {
  readonly url: string;
  readonly delivered: readonly Delivered[];
  /** Set from the answer that created the subscription; deliveries are verified with it from then on. */
  secret: string | undefined;
  /** Why requests were refused; empty when all was well. */
  readonly refused: readonly string[];
}

/** A webhook endpoint that verifies as docs/reference/events.md#verifying-a-delivery says. */
export async function startReceiver(): Promise<Receiver> {
  const delivered: Delivered[] = [];
  const refused: string[] = [];
  const seen = new Set<string>();
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const raw = Buffer.concat(chunks);
      const envelope = JSON.parse(raw.toString('utf8')) as Delivered;
      const problem =
        receiver.secret === undefined ? undefined : verify(request.headers, raw, receiver.secret);
      if (problem !== undefined) {
        refused.push(problem);
        reply.writeHead(401).end();
        return;
      }
      if (envelope.type === 'webhook.verification') {
        reply.writeHead(200).end(envelope.data.challenge);
        return;
      }
      if (!seen.has(envelope.id)) delivered.push(envelope);
      seen.add(envelope.id);
      reply.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    delivered,
    refused,
    secret: undefined,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
  return receiver;
}

function verify(headers: IncomingHttpHeaders, raw: Buffer, secret: string): string | undefined {
  const timestamp = String(headers['x-service-timestamp'] ?? '');
  if (!/^[0-9]+$/.test(timestamp)) return 'timestamp is missing or not an integer';
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return 'timestamp is too far away';
  const expected = createHmac('sha256', Buffer.from(secret, 'utf8'))
    .update(`${timestamp}.`)
    .update(raw)
    .digest();
  const entries = String(headers['x-service-signature-v1'] ?? '').split(',');
  const matches = entries.some((entry) => {
    const given = Buffer.from(entry.trim().replace(/^v1=/, ''), 'hex');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  return matches ? undefined : 'no signature matches';
}
