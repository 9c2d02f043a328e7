import { connect as connectTcp, isIP, isIPv6 } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { SecureContext } from 'node:tls';
import { errors } from 'undici';

import { ConfigError } from '#config';

/** An HTTP proxy of the operator's choice. Its own address is not vetted: only the operator sets it. */
export interface Proxy {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  readonly authorization: string | undefined;
}

export interface TunnelOptions {
  readonly proxy: Proxy;
  readonly secureContext: SecureContext;
  /** Vetted addresses of the target: the proxy gets an address, so that it cannot resolve the name differently. */
  readonly addresses: readonly string[];
  readonly port: number;
  readonly timeoutMs: number;
}

const replyBytesMax = 16 * 1024;

/** Reads EGRESS_PROXY. The text may hold a password, so it is never repeated in the error. */
export function parseProxy(text: string): Proxy {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new ConfigError('EGRESS_PROXY is not a URL like http://proxy.example:3128');
  }
  const secure = url.protocol === 'https:';
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    secure,
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
      return await openOne(options, address, signal);
    } catch (error) {
      if (signal.aborted) throw new errors.ConnectTimeoutError('proxy');
      failure = error;
    }
  }
  throw failure;
}

function openOne(options: TunnelOptions, address: string, signal: AbortSignal): Promise<Socket> {
  const { proxy, secureContext } = options;
  const authority = `${isIPv6(address) ? `[${address}]` : address}:${options.port}`;
  const place = { host: proxy.host, port: proxy.port };
  const socket = proxy.secure
    ? connectTls({
        ...place,
        ALPNProtocols: ['http/1.1'],
        rejectUnauthorized: true,
        secureContext,
        servername: isIP(proxy.host) ? '' : proxy.host,
      })
    : connectTcp(place);
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
      const end = reply.indexOf('\r\n\r\n');
      if (end < 0 && reply.length <= replyBytesMax) return;
      // The target speaks only when spoken to: anything after the head would be the proxy's own words.
      const granted = /^HTTP\/1\.[01] 2\d\d[ \r]/.test(reply.toString('latin1'));
      if (!granted || end !== reply.length - 4) return fail(new Error('proxy refused the tunnel'));
      signal.removeEventListener('abort', onAbort);
      socket.pause().off('data', onData).off('end', onEnd).off('error', fail);
      resolve(socket);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('error', fail).on('end', onEnd).on('data', onData);
    socket.once(proxy.secure ? 'secureConnect' : 'connect', () => {
      const credentials =
        proxy.authorization === undefined ? '' : `proxy-authorization: ${proxy.authorization}\r\n`;
      socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${credentials}\r\n`);
    });
  });
}
