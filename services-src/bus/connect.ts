import { connect } from '@nats-io/transport-node';
import type { NatsConnection } from '@nats-io/transport-node';

import type { Component } from '../contracts/vocabulary.ts';
import { openOutbox } from './outbox.ts';
import type { Outbox } from './outbox.ts';
import { openRequests } from './requests.ts';
import type { Requests } from './requests.ts';

export interface Bus extends AsyncDisposable {
  readonly nats: NatsConnection;
  readonly requests: Requests;
  readonly outbox: Outbox;
}

/**
 * Logs in to NATS as one component, with an inbox prefix of its own so that its NATS user can
 * read its own replies and nobody else's. Reconnects for ever; requests meanwhile fail as `unavailable`.
 */
export async function connectBus({
  url,
  name,
}: {
  url: string;
  name: Component | 'provision';
}): Promise<Bus> {
  const { servers, user, pass } = parseNatsUrl(url);
  const inboxPrefix = `_INBOX_${name}`;
  const nats = await connect({
    servers,
    name,
    inboxPrefix,
    // For JetStream's own requests: an error object with its stack for each costs more than they do.
    noAsyncTraces: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 100,
    reconnectJitter: 50,
    timeout: 5_000,
    ...(user === undefined ? {} : { user, pass }),
  });
  const outbox = openOutbox(nats);
  return {
    nats,
    outbox,
    requests: openRequests(nats, { inboxPrefix, outbox }),
    async [Symbol.asyncDispose]() {
      outbox.flush();
      // A draining connection flushes what was published; a lost server must not keep us from stopping.
      await Promise.race([nats.drain().catch(() => undefined), delay(2_000)]);
      await nats.close();
    },
  };
}

/** `nats://user:password@host:port[,host:port]`; credentials are percent-decoded. */
function parseNatsUrl(url: string): { servers: string[]; user?: string; pass?: string } {
  const [first = '', ...others] = url.split(',');
  const parsed = new URL(first);
  const servers = [parsed.host, ...others.map((other) => other.replace(/^nats:\/\//, ''))];
  if (parsed.username === '') return { servers };
  return {
    servers,
    user: decodeURIComponent(parsed.username),
    pass: decodeURIComponent(parsed.password),
  };
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
