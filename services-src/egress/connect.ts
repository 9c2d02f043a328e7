import { isIP } from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { callbackify } from 'node:util';
import { buildConnector, errors } from 'undici';

import { parseAddress } from './address.ts';
import { AddressRefused } from './failures.ts';
import type { Guard, Target } from './guard.ts';
import { openTunnel } from './proxy.ts';
import type { Proxy } from './proxy.ts';

export interface ConnectorOptions {
  readonly guard: Guard;
  readonly secureContext: SecureContext;
  readonly proxy: Proxy | undefined;
  readonly timeoutMs: number;
  /** Called when there is no tunnel to the target: its name has no address, or the proxy refuses. */
  readonly onProxyFailure: (error: unknown, target: Target) => void;
}

/**
 * Creates undici's connector for one origin. For every new connection the host name is resolved and
 * vetted once, inside the look-up that the socket uses, so DNS cannot answer differently between
 * the check and the connection. TLS still verifies the host name.
 */
export function createConnector(
  target: Target,
  options: ConnectorOptions,
): buildConnector.connector {
  const { guard, proxy, secureContext, timeoutMs } = options;
  const connect = buildConnector({
    allowH2: true,
    autoSelectFamily: true,
    lookup: createVettedLookup(guard, target),
    // Set explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment has no effect.
    rejectUnauthorized: true,
    secureContext,
    timeout: timeoutMs,
  });
  if (proxy === undefined) {
    const open: buildConnector.connector = (connection, callback) => {
      connect(connection, (...result) => {
        if (result[0] !== null) return callback(...result);
        if (isVettedPeer(guard, target, result[1])) return giveToUndici(result[1], callback);
        result[1].destroy();
        callback(new AddressRefused(), null);
      });
    };
    if (target.literalAddress === undefined) return open;
    // The socket does not look up a literal address, so this function vets it.
    const vetTarget = callbackify(() => guard.vettedAddresses(target));
    return (connection, callback) => {
      vetTarget((error) => (error === null ? open(connection, callback) : callback(error, null)));
    };
  }
  const openTargetTunnel = callbackify(async () => {
    try {
      const hosts = await guard.vettedAddresses(target);
      return await openTunnel({ proxy, secureContext, hosts, port: target.port, timeoutMs });
    } catch (error) {
      options.onProxyFailure(error, target);
      throw error;
    }
  });
  return (connection, callback) => {
    openTargetTunnel((error, httpSocket) => {
      if (error !== null) return callback(error, null);
      if (!target.isSecure) return giveToUndici(httpSocket, callback);
      connect({ ...connection, httpSocket }, (...result) => {
        if (result[0] === null) giveToUndici(result[1], callback);
        else callback(...result);
      });
    });
  };
}

/**
 * Passes a socket to undici. When a response head is too large, undici still parses the input that
 * it has already read, and creates an error with its stack for each further header: a tenth of a
 * second of CPU for one hostile answer. The stacks cost the most, so they are switched off until
 * that input is parsed.
 */
function giveToUndici(socket: Socket, callback: buildConnector.Callback): void {
  const destroy = socket.destroy.bind(socket);
  socket.destroy = (error) => {
    if (error instanceof errors.HeadersOverflowError) {
      const { stackTraceLimit } = Error;
      Error.stackTraceLimit = 0;
      queueMicrotask(() => {
        Error.stackTraceLimit = stackTraceLimit;
      });
    }
    return destroy(error);
  };
  callback(null, socket);
}

function createVettedLookup(guard: Guard, target: Target): LookupFunction {
  const vettedAddresses = callbackify(() => guard.vettedAddresses(target));
  return (_hostname, options, callback) => {
    vettedAddresses((error, addressTexts) => {
      if (error !== null) return callback(error, []);
      const addresses = addressTexts.map((address) => ({ address, family: isIP(address) }));
      const firstAddress = addresses[0]!;
      if (options.all === true) callback(null, addresses);
      else callback(null, firstAddress.address, firstAddress.family);
    });
  };
}

/** Checks the look-up again: the peer address that the kernel reports must pass the same rule. */
function isVettedPeer(guard: Guard, target: Target, socket: Socket): boolean {
  const address = parseAddress(socket.remoteAddress ?? '');
  return address !== undefined && guard.isReachable(target, address);
}
