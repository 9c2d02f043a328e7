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
}

export interface TunnelOptions {
  readonly proxy: Proxy;
  readonly secureContext: SecureContext;
  /**
   * The vetted addresses of the target. The proxy gets an address instead of a host name, so that
   * it cannot resolve the name to another address.
   */
  readonly addresses: readonly string[];
  readonly port: number;
  readonly timeoutMs: number;
}

const replyBytesMax = 16 * 1024;

/** Parses EGRESS_PROXY. The text may contain a password, so the error never repeats it. */
export function parseProxy(text: string): Proxy {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new ConfigError('EGRESS_PROXY is not a URL like http://proxy.example:3128');
  }
  const secure = url.protocol === 'https:';
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    isSecure: secure,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    authorization:
      credentials === ':' ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
}

/** Opens a CONNECT tunnel to the first address that the proxy reaches. */
export async function openTunnel(options: TunnelOptions): Promise<Socket> {
  const signal = AbortSignal.timeout(options.timeoutMs);
  let failure: unknown;
  for (const address of options.addresses) {
    try {
      return await openTunnelTo(options, address, signal);
    } catch (error) {
      if (signal.aborted) throw new errors.ConnectTimeoutError('proxy');
      failure = error;
    }
  }
  throw failure;
}

function openTunnelTo(
  options: TunnelOptions,
  address: string,
  signal: AbortSignal,
): Promise<Socket> {
  const { proxy, secureContext } = options;
  const authority = `${isIPv6(address) ? `[${address}]` : address}:${options.port}`;
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
    const fail = (error: Error) => {
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      reject(error);
    };
    const onAbort = () => fail(new Error('proxy timed out'));
    const onEnd = () => fail(new Error('proxy closed the connection'));
    let reply = Buffer.alloc(0);
    const onData = (chunk: Buffer) => {
      reply = Buffer.concat([reply, chunk]);
      const headEnd = reply.indexOf('\r\n\r\n');
      if (headEnd < 0 && reply.length <= replyBytesMax) return;
      // The target sends nothing before it receives something, so any bytes after the proxy's head
      // would come from the proxy.
      const isAccepted = /^HTTP\/1\.[01] 2\d\d[ \r]/.test(reply.toString('latin1'));
      if (!isAccepted || headEnd !== reply.length - 4)
        return fail(new Error('proxy refused the tunnel'));
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
