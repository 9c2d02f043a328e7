import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

import { proxyVariablesOf } from '../proxy.ts';

const connectTimeoutMs = 15_000;
/**
 * How long to wait for the beginning of an answer. Every call at the gateway ends earlier. After
 * its beginning, an event stream may be silent for any time.
 */
const answerTimeoutMs = 10 * 60_000;

export interface OutgoingRequest {
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly headers: OutgoingHttpHeaders;
  readonly body?: Buffer;
  readonly signal: AbortSignal;
}

/**
 * An HTTP client for one origin. It follows no redirects, so that the credential reaches no other
 * origin.
 */
export interface HttpClient extends Disposable {
  /**
   * Resolves with the status and headers of the answer. The body is received only as fast as the
   * caller reads it.
   */
  readonly send: (outgoingRequest: OutgoingRequest) => Promise<IncomingMessage>;
}

export function openHttp(url: URL): HttpClient {
  const isTls = url.protocol === 'https:';
  const options = { keepAlive: true, proxyEnv: proxyVariablesOf(process.env) };
  const agent = isTls ? new HttpsAgent(options) : new HttpAgent(options);
  const request = isTls ? httpsRequest : httpRequest;
  return {
    send: ({ method, headers, body, signal }) =>
      new Promise((resolve, reject) => {
        const outgoing = request(url, { agent, method, headers, signal });
        const startTimeout = (ms: number, description: string) =>
          setTimeout(() => outgoing.destroy(new Error(description)), ms);
        const connectTimer = startTimeout(connectTimeoutMs, 'no connection in time');
        const answerTimer = startTimeout(answerTimeoutMs, 'no answer in time');
        outgoing.once('socket', (socket) => {
          if (!socket.connecting) return clearTimeout(connectTimer);
          socket.once(isTls ? 'secureConnect' : 'connect', () => clearTimeout(connectTimer));
        });
        outgoing.once('close', () => {
          clearTimeout(connectTimer);
          clearTimeout(answerTimer);
        });
        outgoing.on('error', reject);
        outgoing.once('response', (answer) => {
          clearTimeout(answerTimer);
          resolve(answer);
        });
        outgoing.end(body);
      }),
    [Symbol.dispose]: () => agent.destroy(),
  };
}

export function isSuccess({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300;
}

export function isEventStream({ headers }: IncomingMessage): boolean {
  return /^text\/event-stream\b/i.test(headers['content-type'] ?? '');
}

/**
 * The whole body as text.
 *
 * @throws if the body is longer than `limit` bytes, or if the connection breaks off.
 */
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
