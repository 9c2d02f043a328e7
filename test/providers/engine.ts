import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { SecureContext } from 'node:tls';

import { createCertificate } from '../../services-src/egress/certificate.testing.ts';
import { nameHosts } from '../support/host-names.ts';
import { authorize } from './authorization.ts';
import type { AuthorizationEnd, Decision } from './authorization.ts';
import { providerFacts } from './facts.ts';
import { createProvider } from './provider.ts';
import type { Provider } from './provider.ts';
import { answerRevocation, answerWithToken, isLike } from './resources.ts';
import { answerTokenRequest } from './token-endpoint.ts';

export interface EngineRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface EngineAnswer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * Simulates all providers of `facts/` at once, under their real host names. A forward proxy leads
 * every connection to one TLS server. The product runs unchanged: it gets the settings with which
 * operators send its requests through a proxy, and the host names resolve as if they were in the
 * machine's hosts file.
 */
export interface ProviderEngine extends AsyncDisposable {
  /** The settings with which the product must be started. */
  readonly settings: { readonly EGRESS_PROXY: string; readonly EGRESS_CA_FILE: string };
  provider(key: string): Provider;
  /** Opens an authorization URL as a browser would. The person decides as `decision` says. */
  visit(url: URL, decision?: Decision): AuthorizationEnd;
  /** Every request to an address that no provider documents. */
  readonly strays: readonly string[];
}

/** A public address, because egress connects to no others. The proxy never connects to it. */
const address = '8.0.0.1';

/**
 * Starts the simulated providers. `ownHost` is the host name of the deployment. The certificates
 * are written to `caFile`.
 */
export async function startProviderEngine({
  ownHost,
  caFile,
}: {
  ownHost: string;
  caFile: string;
}): Promise<ProviderEngine> {
  await using startup = new AsyncDisposableStack();
  const providers = new Map(
    [...providerFacts].map(([key, facts]) => [key, createProvider(key, facts)]),
  );
  const hosts = new Set([...providers.values()].flatMap(hostsOf));
  const certificates = new Map([...hosts].map((host) => [host, createCertificate(host)]));
  await writeFile(caFile, [...certificates.values()].map(({ cert }) => cert).join(''));
  startup.use(nameHosts(hosts, address));
  startup.use(nameHosts([ownHost], '127.0.0.1'));

  const strays: string[] = [];
  const tlsServer = createHttpsServer({
    SNICallback: (host, done) => {
      const certificate = certificates.get(host);
      done(null, certificate && secureContextOf(certificate));
    },
  });
  tlsServer.on('request', (request, reply) => {
    void readRequest(request)
      .then((read) => {
        const { status, body } = dispatch(providers, read, strays);
        const isForm = body instanceof URLSearchParams;
        const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json';
        reply.writeHead(status, { 'content-type': type });
        reply.end(isForm ? body.toString() : JSON.stringify(body));
      })
      .catch((error: unknown) => {
        strays.push(String(error));
        reply.destroy();
      });
  });
  const sockets = new Set<Socket>();
  const proxy = createHttpServer();
  proxy.on('connect', (_request, socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    socket.write('HTTP/1.1 200 Connected\r\n\r\n');
    tlsServer.emit('connection', socket);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  startup.defer(async () => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
    await once(proxy, 'close');
  });

  const running = startup.move();
  return {
    settings: {
      EGRESS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
      EGRESS_CA_FILE: caFile,
    },
    strays,
    provider: (key) => getProvider(providers, key),
    visit(url, decision = 'allow') {
      const provider = [...providers.values()].find(({ facts }) =>
        isLike(facts.authorization_url, url),
      );
      if (provider === undefined) throw new Error(`${url.href} is no authorization endpoint`);
      return authorize(provider, url, decision);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function getProvider(providers: ReadonlyMap<string, Provider>, key: string): Provider {
  const provider = providers.get(key);
  if (provider === undefined) {
    throw new Error(
      `test/providers/facts/${key}.yaml is missing: write it from the provider's documentation, without reading oauth-providers/`,
    );
  }
  return provider;
}

function hostsOf({ facts }: Provider): string[] {
  const urls = [facts.token_url, facts.revocation?.url, ...facts.accounts.map(({ url }) => url)];
  const urlHosts = urls.flatMap((url) => (url === undefined ? [] : [new URL(url).host]));
  return [...urlHosts, ...facts.api.hosts];
}

async function readRequest(request: IncomingMessage): Promise<EngineRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { method = '', url = '/', headers } = request;
  const body = Buffer.concat(chunks).toString();
  return { method, url: new URL(url, `https://${headers.host}`), headers, body };
}

/** Lets the provider answer to which the address belongs. */
function dispatch(
  providers: ReadonlyMap<string, Provider>,
  request: EngineRequest,
  strays: string[],
): EngineAnswer {
  const { method, url } = request;
  for (const provider of providers.values()) {
    const { facts } = provider;
    const { token_url: tokenUrl, token_answer: answer, revocation } = facts;
    if (method === 'POST' && [tokenUrl, answer.refresh_url].includes(url.href)) {
      return answerTokenRequest(provider, request);
    }
    const revocationUrls = revocation ? [revocation.url, ...revocation.other_urls] : [];
    if (method !== 'GET' && revocationUrls.some((each) => isLike(each, url))) {
      return answerRevocation(provider, request);
    }
  }
  const apiProvider = [...providers.values()].find((provider) =>
    hostsOf(provider).includes(url.host),
  );
  if (apiProvider !== undefined) return answerWithToken(apiProvider, request);
  strays.push(`${method} ${url.href}`);
  return { status: 404, body: {} };
}

function secureContextOf(certificate: { key: string; cert: string }): SecureContext {
  return createSecureContext(certificate);
}
