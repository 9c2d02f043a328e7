import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface DeliveredEvent {
  readonly id: string;
  readonly type: string;
  readonly data: any; // eslint-disable-line typescript/no-explicit-any -- looked at field by field
}

export interface Receiver extends Disposable {
  readonly url: string;
  readonly receivedEvents: readonly DeliveredEvent[];
  /**
   * The secret that the gateway returns when it creates the subscription. The receiver verifies
   * later deliveries with this secret.
   */
  secret: string | undefined;
  /** Why the receiver refused requests; empty if it refused none. */
  readonly refusalReasons: readonly string[];
}

/**
 * A webhook endpoint that verifies deliveries as described in
 * docs/reference/events.md#verifying-a-delivery.
 */
export async function startReceiver(): Promise<Receiver> {
  const deliveredEvents: DeliveredEvent[] = [];
  const refused: string[] = [];
  const seenIds = new Set<string>();
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const rawBody = Buffer.concat(chunks);
      const envelope = JSON.parse(rawBody.toString('utf8')) as DeliveredEvent;
      const problem =
        receiver.secret === undefined
          ? undefined
          : findSignatureProblem(request.headers, rawBody, receiver.secret);
      if (problem !== undefined) {
        refused.push(problem);
        reply.writeHead(401).end();
        return;
      }
      if (envelope.type === 'webhook.verification') {
        reply.writeHead(200).end(envelope.data.challenge);
        return;
      }
      if (!seenIds.has(envelope.id)) deliveredEvents.push(envelope);
      seenIds.add(envelope.id);
      reply.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    receivedEvents: deliveredEvents,
    refusalReasons: refused,
    secret: undefined,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
  return receiver;
}

function findSignatureProblem(
  headers: IncomingHttpHeaders,
  rawBody: Buffer,
  secret: string,
): string | undefined {
  const timestamp = String(headers['x-service-timestamp'] ?? '');
  if (!/^[0-9]+$/.test(timestamp)) return 'timestamp is missing or not an integer';
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return 'timestamp is too far away';
  const expected = createHmac('sha256', Buffer.from(secret, 'utf8'))
    .update(`${timestamp}.`)
    .update(rawBody)
    .digest();
  const signatureEntries = String(headers['x-service-signature-v1'] ?? '').split(',');
  const hasMatch = signatureEntries.some((entry) => {
    const givenSignature = Buffer.from(entry.trim().replace(/^v1=/, ''), 'hex');
    return givenSignature.length === expected.length && timingSafeEqual(givenSignature, expected);
  });
  return hasMatch ? undefined : 'no signature matches';
}
