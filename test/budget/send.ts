import { request } from 'node:http';
import type { Agent } from 'node:http';

/** One request, ready to be sent. */
export interface Sendable {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string;
  readonly agent: Agent;
}

/** Becomes another number each time: what exists already is answered without being made. */
export const runPlaceholder = 'RUN_NUMBER';
let sent = 0;

/** The status and the beginning of the answer. */
export function send(sendable: Sendable): Promise<{ status: number; text: string }> {
  const { method, url, headers, agent } = sendable;
  sent += 1;
  const body = Buffer.from(sendable.body.replaceAll(runPlaceholder, String(sent)));
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const asked = request(
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
  asked.once('error', reject);
  asked.end(body);
  return promise;
}
