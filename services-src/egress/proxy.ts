import { connect as connectTcp, isIP, isIPv6 } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { SecureContext } from 'node:tls';
import { errors } from 'undici';

import { ConfigError } from '#config';

/**
 * The operator's HTTP proxy. Its own address is not vetted, because only the operator can set it.
 */
export interface Proxy {
  readonly isSecure: boolean;
  readonly host: string;
  readonly port: number;
  readonly authorization: string | undefined;
  /** Whether the proxy gets the target's host name, and looks it up itself. */
  readonly resolvesNames: boolean;
}

/** Why the proxy opened no tunnel. The message says it to people, and names no address. */
export class ProxyFailure extends Error {
  override readonly name = 'ProxyFailure';
  /** The status with which the proxy refused; undefined when it did not answer as a proxy. */
  readonly status: number | undefined;

  constructor(status: number | undefined, cause?: unknown) {
    super(describeProxyFailure(status), { cause });
    this.status = status;
  }
}

function describeProxyFailure(status: number | undefined): string {
  if (status === undefined) {
    return 'The forward proxy (EGRESS_PROXY) cannot be reached, or does not answer as an HTTP proxy';
  }
  if (status === 407) {
    return 'The forward proxy (EGRESS_PROXY) wants other credentials (407)';
  }
  return status < 500
    ? `The forward proxy (EGRESS_PROXY) refuses to connect to this host (${status})`
    : `The forward proxy (EGRESS_PROXY) could not connect to this host (${status})`;
}

export interface TunnelOptions {
  readonly proxy: Proxy;
  readonly secureContext: SecureContext;
  /**
   * The vetted addresses of the target, so that the proxy cannot resolve its name to another
   * address. With `resolvesNames` the host name alone.
   */
  readonly hosts: readonly string[];
  readonly port: number;
  readonly timeoutMs: number;
}

const replyBytesMax = 16 * 1024;

/** Parses EGRESS_PROXY. The text may contain a password, so the error never repeats it. */
export function parseProxy(text: string, { resolvesNames }: Pick<Proxy, 'resolvesNames'>): Proxy {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new ConfigError('EGRESS_PROXY is not a URL like http://proxy.example:3128');
  }
  const isSecure = url.protocol === 'https:';
  const credentials = `${decodeCredential(url.username)}:${decodeCredential(url.password)}`;
  return {
    resolvesNames,
    isSecure,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
    authorization:
      credentials === ':' ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
}

function decodeCredential(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ConfigError(
      'EGRESS_PROXY has a % in its user or password that is not part of a code like %25. Write % as %25.',
    );
  }
}

/**
 * Opens a CONNECT tunnel (RFC 9110 §9.3.6) to the first host that the proxy reaches. Throws a
 * `ProxyFailure`, or undici's `ConnectTimeoutError`.
 */
export async function openTunnel(options: TunnelOptions): Promise<Socket> {
  const signal = AbortSignal.timeout(options.timeoutMs);
  let failure: unknown;
  for (const host of options.hosts) {
    try {
      return await openTunnelTo(options, host, signal);
    } catch (error) {
      if (signal.aborted) throw new errors.ConnectTimeoutError('proxy');
      failure = error;
    }
  }
  throw failure;
}

function openTunnelTo(options: TunnelOptions, host: string, signal: AbortSignal): Promise<Socket> {
  const { proxy, secureContext } = options;
  const authority = `${isIPv6(host) ? `[${host}]` : host}:${options.port}`;
  const proxyAddress = { host: proxy.host, port: proxy.port };
  const socket = proxy.isSecure
    ? connectTls({
        ...proxyAddress,
        ALPNProtocols: ['http/1.1'],
        rejectUnauthorized: true,
        secureContext,
        servername: isIP(proxy.host) ? '' : proxy.host,
      })
    : connectTcp(proxyAddress);
  return new Promise((resolve, reject) => {
    const fail = (cause?: unknown, status?: number) => {
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      reject(new ProxyFailure(status, cause));
    };
    const onAbort = () => fail();
    const onEnd = () => fail();
    let reply = Buffer.alloc(0);
    const onData = (chunk: Buffer) => {
      reply = Buffer.concat([reply, chunk]);
      const headEnd = reply.indexOf('\r\n\r\n');
      if (headEnd < 0 && reply.length <= replyBytesMax) return;
      // The target sends nothing before it receives something, so any bytes after the proxy's head
      // would come from the proxy.
      const [, statusText] = /^HTTP\/1\.[01] (\d{3})[ \r]/.exec(reply.toString('latin1')) ?? [];
      const status = Number(statusText);
      const isAccepted = status >= 200 && status < 300;
      if (!isAccepted) return fail(undefined, status >= 300 ? status : undefined);
      if (headEnd !== reply.length - 4) return fail();
      signal.removeEventListener('abort', onAbort);
      socket.pause().off('data', onData).off('end', onEnd).off('error', fail);
      resolve(socket);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('error', fail).on('end', onEnd).on('data', onData);
    socket.once(proxy.isSecure ? 'secureConnect' : 'connect', () => {
      const credentials =
        proxy.authorization === undefined ? '' : `proxy-authorization: ${proxy.authorization}\r\n`;
      socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${credentials}\r\n`);
    });
  });
}
