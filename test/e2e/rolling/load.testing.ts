import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Agent as Caller, World } from '../../support/world.ts';

export interface Load {
  /** The number of requests that got the expected answer. */
  readonly succeeded: number;
  /** The other answers and the errors, and how often each of them occurred. */
  readonly failures: ReadonlyMap<string, number>;
}

interface LoadRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: object;
}

const clientCount = 8;

/**
 * Sends requests until `isOver` returns true. Each client sends one request after the other over a
 * connection that it keeps: calls with reads and non-reads, requests without a call, and OAuth
 * metadata. Without a pause between requests, the clients take all processors, and replicas start
 * slowly.
 */
export async function sendLoad(
  { url, upstream }: Pick<World, 'url' | 'upstream'>,
  { key }: Pick<Caller, 'key'>,
  { pauseMs, isOver }: { pauseMs: number; isOver: (load: Load) => boolean },
): Promise<Load> {
  const agent = new Agent({ keepAlive: true, maxSockets: clientCount, scheduling: 'fifo' });
  const failures = new Map<string, number>();
  const load = { succeeded: 0, failures };
  let count = 0;

  const createCallRequest = (method: 'GET' | 'POST'): LoadRequest => ({
    method: 'POST',
    path: '/v1/actions/call',
    body: {
      service: 'http',
      method,
      url: `${upstream.url}/${method.toLowerCase()}/${count}`,
      ...(method === 'POST' && { body: { n: count } }),
    },
  });
  const nextRequest = (): LoadRequest => {
    count += 1;
    if (count % 10 === 0) return { method: 'GET', path: '/.well-known/oauth-authorization-server' };
    if (count % 10 === 5) return { method: 'GET', path: '/v1/identities/me' };
    return createCallRequest(count % 3 === 0 ? 'POST' : 'GET');
  };
  const isExpected = (loadRequest: LoadRequest, { status, text }: Answer) =>
    status === 200 && (loadRequest.body === undefined || text.includes('"status":"called"'));

  const sendNextRequest = async (): Promise<void> => {
    const requestToSend = nextRequest();
    let failure: string | undefined;
    try {
      const answer = await sendRequest(url, { agent, key, asked: requestToSend });
      if (!isExpected(requestToSend, answer))
        failure = `${answer.status} ${answer.text.slice(0, 300)}`;
    } catch (error) {
      failure = String(error);
    }
    if (failure === undefined) load.succeeded += 1;
    else {
      const failureLine = `${requestToSend.method} ${requestToSend.path}: ${withoutIds(failure)}`;
      failures.set(failureLine, (failures.get(failureLine) ?? 0) + 1);
    }
  };
  await Promise.all(
    Array.from({ length: clientCount }, async () => {
      while (!isOver(load)) {
        await sendNextRequest();
        await sleep(pauseMs);
      }
    }),
  );
  agent.destroy();
  return load;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function sendRequest(
  url: string,
  { agent, key, asked }: { agent: Agent; key: string; asked: LoadRequest },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const body = asked.body === undefined ? '' : JSON.stringify(asked.body);
    const sentRequest = request(
      new URL(asked.path, url),
      {
        agent,
        method: asked.method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body !== '' && { 'content-type': 'application/json' }),
        },
      },
      (reply) => {
        readText(reply).then((text) => resolve({ status: reply.statusCode ?? 0, text }), reject);
      },
    );
    sentRequest.once('error', reject);
    sentRequest.end(body);
  });
}

async function readText(reply: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of reply) text += String(chunk);
  return text;
}

function withoutIds(text: string): string {
  return text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID');
}
