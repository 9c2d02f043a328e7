import { request } from 'node:http';
import type { Agent } from 'node:http';

/** A request that is ready to be sent. */
export interface PreparedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string;
  readonly agent: Agent;
}

/**
 * `sendRequest` replaces this text in a body by a new number, so that every request can create a
 * resource with a new name.
 */
export const runPlaceholder = 'RUN_NUMBER';
let sentCount = 0;

/** Sends a request and returns the status and the beginning of the answer. */
export function sendRequest(sendable: PreparedRequest): Promise<{ status: number; text: string }> {
  const { method, url, headers, agent } = sendable;
  sentCount += 1;
  const body = Buffer.from(sendable.body.replaceAll(runPlaceholder, String(sentCount)));
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const sentRequest = request(
    url,
    {
      method,
      agent,
      headers: { ...headers, ...(body.length > 0 && { 'content-length': String(body.length) }) },
    },
    (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        if (text.length < 500) text += chunk;
      });
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, text }));
      answer.once('error', reject);
    },
  );
  sentRequest.once('error', reject);
  sentRequest.end(body);
  return promise;
}
