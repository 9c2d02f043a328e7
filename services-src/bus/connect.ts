import { connect } from '@nats-io/transport-node';
import type { NatsConnection } from '@nats-io/transport-node';

import type { Component } from '../contracts/vocabulary.ts';
import { readerOf } from './accounts.ts';
import type { BusUser } from './accounts.ts';
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
  return logIn({ ...parseNatsUrl(url), name });
}

/**
 * Logs in as the component's second NATS user, which may read the stream and nothing else: the
 * name in the URL with `_reader` after it, and the same password.
 */
export async function connectReader({ url, name }: { url: string; name: Component }): Promise<Bus> {
  const { user, ...login } = parseNatsUrl(url);
  return logIn({
    ...login,
    ...(user !== undefined && { user: `${user}_reader` }),
    name: readerOf(name),
  });
}

interface Login {
  readonly servers: string[];
  readonly user?: string;
  readonly pass?: string;
}

async function logIn({ name, servers, user, pass }: Login & { name: BusUser }): Promise<Bus> {
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
function parseNatsUrl(url: string): Login {
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
