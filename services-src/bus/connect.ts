import { connect } from '@nats-io/transport-node';
import type { NatsConnection } from '@nats-io/transport-node';

import { ConfigError } from '../config/index.ts';
import type { Component } from '../contracts/vocabulary.ts';
import { readerOf } from './accounts.ts';
import type { BusUser } from './accounts.ts';
import { isNatsNewEnough, oldestNatsVersion } from './nats-version.ts';
import type { InProcess, LocalTransport } from './local.ts';
import { openOutbox } from './outbox.ts';
import type { Outbox } from './outbox.ts';
import { openRequests } from './requests.ts';
import type { Requests } from './requests.ts';

export interface Bus extends AsyncDisposable {
  readonly nats: NatsConnection;
  readonly requests: Requests;
  readonly outbox: Outbox;
  /** How this component reaches components of the same process without NATS. */
  readonly local?: { readonly caller: Component; readonly transport: LocalTransport };
}

/**
 * Logs in to NATS as one component. Each component has its own inbox prefix, so that its NATS user
 * can be limited to its own replies. The connection reconnects for ever; while it is down, requests
 * fail as `unavailable`. Requests to components of the same process go through `local`, if given.
 */
export async function connectBus({
  url,
  name,
  local,
}: InProcess & { readonly url: string; readonly name: Component | 'provision' }): Promise<Bus> {
  const bus = await logIn({ ...parseNatsUrl(url), name });
  if (local === undefined || name === 'provision') return bus;
  return { ...bus, local: { caller: name, transport: local } };
}

/**
 * Logs in as the component's second NATS user, which may only read the event stream. The user name
 * is the name in the URL followed by `_reader`, and the password is the one in the URL.
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
  // The URL may contain credentials before each further host. They are removed, so that no message
  // shows them.
  const serversText = `NATS at ${servers.map((server) => server.replace(/^.*@/, '')).join(', ')}`;
  const nats = await connect({
    servers,
    name,
    inboxPrefix,
    // Without this option, the client creates an error object with its stack for each JetStream
    // request, which costs more than the request.
    noAsyncTraces: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 100,
    reconnectJitter: 50,
    timeout: 5_000,
    // The client reconnects when the server has left two pings unanswered: a server that has stopped
    // reading keeps its sockets open, so nothing else would show it.
    pingInterval: 5_000,
    maxPingOut: 2,
    ...(user === undefined ? {} : { user, pass }),
  }).catch((error: unknown) => {
    throw new ConfigError(
      `${serversText} does not let ${user ?? name} in: ${messageOf(error)}. ` +
        'Start it first, with deploy/nats.conf, or correct NATS_URL.',
      { cause: error },
    );
  });
  const version = nats.info?.version ?? 'unknown';
  if (!isNatsNewEnough(version)) {
    await nats.close();
    throw new ConfigError(
      `${serversText} is of version ${version}, which is too old: ` +
        `${oldestNatsVersion.join('.')} or newer is needed.`,
    );
  }
  const outbox = openOutbox(nats);
  return {
    nats,
    outbox,
    requests: openRequests(nats, { inboxPrefix, outbox }),
    async [Symbol.asyncDispose]() {
      outbox.flush();
      // Draining sends what was published. It is limited in time, because a lost server must not
      // prevent the process from stopping.
      await Promise.race([nats.drain().catch(() => undefined), delay(2_000)]);
      await nats.close();
    },
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Parses `nats://user:password@host:port[,host:port]`, with percent-encoded credentials. */
function parseNatsUrl(url: string): Login {
  const [first = '', ...others] = url.split(',');
  const parsedUrl = new URL(first);
  const servers = [
    parsedUrl.host,
    ...others.map((otherServers) => otherServers.replace(/^nats:\/\//, '')),
  ];
  if (parsedUrl.username === '') return { servers };
  return {
    servers,
    user: decodeURIComponent(parsedUrl.username),
    pass: decodeURIComponent(parsedUrl.password),
  };
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
