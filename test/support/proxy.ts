import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, NetConnectOpts, Socket } from 'node:net';

/**
 * Passes TCP connections on to a server. A test can interrupt them, as if the server had failed.
 */
export interface Proxy extends AsyncDisposable {
  readonly port: number;
  /** Ends all connections and refuses new ones, like a server that was killed. */
  cut(): void;
  /**
   * Passes no data on, but keeps the connections open, like a server that was stopped by SIGSTOP.
   */
  freeze(): void;
  /** Passes connections and data on again. */
  restore(): void;
}

export async function startProxy(target: NetConnectOpts): Promise<Proxy> {
  const socketPairs = new Set<readonly [Socket, Socket]>();
  let state: 'open' | 'cut' | 'frozen' = 'open';
  const server = createServer((client) => {
    if (state === 'cut') {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(target);
    const socketPair = [client, upstream] as const;
    socketPairs.add(socketPair);
    for (const [from, to] of [socketPair, [upstream, client]] as const) {
      from.on('data', (chunk: Buffer) => to.write(chunk));
      from.on('error', () => undefined);
      from.on('close', () => {
        socketPairs.delete(socketPair);
        to.destroy();
      });
      if (state === 'frozen') from.pause();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      state = 'cut';
      for (const [client] of socketPairs) client.resetAndDestroy();
    },
    freeze() {
      state = 'frozen';
      for (const each of [...socketPairs].flat()) each.pause();
    },
    restore() {
      state = 'open';
      for (const each of [...socketPairs].flat()) each.resume();
    },
    async [Symbol.asyncDispose]() {
      for (const each of [...socketPairs].flat()) each.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/**
 * Starts a proxy for a Postgres URL that contains the folder of a Unix socket. Returns the proxy,
 * and the URL that leads through it.
 */
export async function proxyPostgres(url: string): Promise<{ url: string; proxy: Proxy }> {
  const proxiedUrl = new URL(url);
  const path = `${proxiedUrl.searchParams.get('host')}/.s.PGSQL.${proxiedUrl.port || '5432'}`;
  const proxy = await startProxy({ path });
  proxiedUrl.searchParams.delete('host');
  proxiedUrl.host = `127.0.0.1:${proxy.port}`;
  return { url: proxiedUrl.href, proxy };
}

/** Starts a proxy for a NATS URL. Returns the proxy, and the URL that leads through it. */
export async function proxyNats(url: string): Promise<{ url: string; proxy: Proxy }> {
  const proxiedUrl = new URL(url);
  const proxy = await startProxy({ host: proxiedUrl.hostname, port: Number(proxiedUrl.port) });
  proxiedUrl.port = String(proxy.port);
  return { url: proxiedUrl.href, proxy };
}
