import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

import { proxyFor } from '../proxy.ts';

const connectTimeoutMs = 15_000;
/** Longer than any call may take at the gateway; a stream that has begun may be silent for ever. */
const answerTimeoutMs = 10 * 60_000;

export interface Exchange {
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly headers: OutgoingHttpHeaders;
  readonly body?: Buffer;
  readonly signal: AbortSignal;
}

/** HTTP to one address. Redirects are not followed: the credential goes nowhere else. */
export interface HttpClient extends Disposable {
  /** Resolves with the head; the body is read as fast as the reader takes it. */
  readonly send: (exchange: Exchange) => Promise<IncomingMessage>;
}

export function openHttp(url: URL): HttpClient {
  const isTls = url.protocol === 'https:';
  const options = { keepAlive: true, proxyEnv: proxyFor(process.env) };
  const agent = isTls ? new HttpsAgent(options) : new HttpAgent(options);
  const request = isTls ? httpsRequest : httpRequest;
  return {
    send: ({ method, headers, body, signal }) =>
      new Promise((resolve, reject) => {
        const outgoing = request(url, { agent, method, headers, signal });
        const limit = (ms: number, what: string) =>
          setTimeout(() => outgoing.destroy(new Error(what)), ms);
        const connecting = limit(connectTimeoutMs, 'no connection in time');
        const answering = limit(answerTimeoutMs, 'no answer in time');
        outgoing.once('socket', (socket) => {
          if (!socket.connecting) return clearTimeout(connecting);
          socket.once(isTls ? 'secureConnect' : 'connect', () => clearTimeout(connecting));
        });
        outgoing.once('close', () => {
          clearTimeout(connecting);
          clearTimeout(answering);
        });
        outgoing.on('error', reject);
        outgoing.once('response', (answer) => {
          clearTimeout(answering);
          resolve(answer);
        });
        outgoing.end(body);
      }),
    [Symbol.dispose]: () => agent.destroy(),
  };
}

export function isGood({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300;
}

export function isEventStream({ headers }: IncomingMessage): boolean {
  return /^text\/event-stream\b/i.test(headers['content-type'] ?? '');
}

/** @throws if it is longer than `limit` bytes, or breaks off. */
export async function readBody(answer: IncomingMessage, limit: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw new Error(`an answer of more than ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
