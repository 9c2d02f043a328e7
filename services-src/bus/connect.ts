import { isIP } from 'node:net';

import { connect } from '@nats-io/transport-node';
import type { NatsConnection, TlsOptions } from '@nats-io/transport-node';

import { ConfigError, describeTlsFailure, isLoopbackHost, natsServersOf } from '../config/index.ts';
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

interface BusServer {
  /** The setting NATS_URL. `tls://` requires TLS, and `?tls=off` at its end forbids it. */
  readonly url: string;
  /**
   * The setting SERVERS_CA_FILE. If it is set, TLS is required too, except on loopback and with
   * `?tls=off`.
   */
  readonly caFile?: string | undefined;
}

/** Reads the address of NATS from the settings of a component. */
export function busServerOf(config: {
  readonly NATS_URL: string;
  readonly SERVERS_CA_FILE?: string | undefined;
}): BusServer {
  return { url: config.NATS_URL, caFile: config.SERVERS_CA_FILE };
}

/**
 * Logs in to NATS as one component. Each component has its own inbox prefix, so that its NATS user
 * can be limited to its own replies. The connection reconnects for ever; while it is down, requests
 * fail as `unavailable`. Requests to components of the same process go through `local`, if given.
 */
export async function connectBus({
  name,
  local,
  ...server
}: InProcess & BusServer & { readonly name: Component | 'provision' }): Promise<Bus> {
  const bus = await logIn({ ...parseNatsUrl(server), name });
  if (local === undefined || name === 'provision') return bus;
  return { ...bus, local: { caller: name, transport: local } };
}

/**
 * Logs in as the component's second NATS user, which may only read the event stream. The user name
 * is the name in the URL followed by `_reader`. The password is that of the URL.
 */
export async function connectReader({
  name,
  ...server
}: BusServer & { name: Component }): Promise<Bus> {
  const { user, ...login } = parseNatsUrl(server);
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
  readonly tls?: TlsOptions;
}

async function logIn({ name, servers, user, pass, tls }: Login & { name: BusUser }): Promise<Bus> {
  const inboxPrefix = `_INBOX_${name}`;
  const serversText = `NATS at ${servers.join(', ')}`;
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
    ...(tls === undefined ? {} : { tls }),
  }).catch((error: unknown) => {
    throw new ConfigError(
      `${serversText} does not let ${user ?? name} in: ${messageOf(error)}. ` +
        (describeTlsFailure(error, 'NATS_URL') ??
          'Start it first, with deploy/nats.conf, or correct NATS_URL.'),
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

/**
 * Parses `nats://user:password@host:port[,host:port][?tls=off]`, with percent-encoded credentials,
 * which further hosts may repeat; `tls://` requires TLS. Throws a `ConfigError` if the client could
 * not verify the server's certificate, and for another parameter.
 */
function parseNatsUrl({ url, caFile }: BusServer): Login {
  const [address = '', ...parameters] = url.split('?');
  const mayUseTls = parameters.length === 0;
  if (!mayUseTls && (parameters.join('?') !== 'tls=off' || address.startsWith('tls:'))) {
    throw new ConfigError(
      'NATS_URL may end in ?tls=off after nats://…, and in no other parameter.',
    );
  }
  const [first, ...others] = natsServersOf(address);
  const { protocol, username, password } = new URL(first);
  const urls = [first, ...others].map((server) => new URL(server));
  const servers = urls.map(({ host }) => host);
  const hosts = urls.map(({ hostname }) => hostname);
  const asksForTls =
    mayUseTls && (protocol === 'tls:' || (caFile !== undefined && !hosts.every(isLoopbackHost)));
  const hostWithoutName = hosts.find((host) => isIP(host.replace(/^\[(.*)\]$/, '$1')) !== 0);
  if (asksForTls && hostWithoutName !== undefined) {
    // For a server without a name, the client would compare the certificate with `localhost`.
    throw new ConfigError(
      `NATS_URL names ${hostWithoutName} for TLS. Name a host of the server's certificate instead.`,
    );
  }
  const tls = asksForTls ? { tls: caFile === undefined ? {} : { caFile } } : {};
  if (username === '') return { servers, ...tls };
  return {
    servers,
    ...tls,
    user: decodeURIComponent(username),
    pass: decodeURIComponent(password),
  };
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
