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
}

/**
 * Makes undici's connector for one origin. The name is resolved and vetted once for every new
 * connection, inside the very look-up that the socket uses, so that DNS has no second chance to
 * answer differently between check and connect. TLS still verifies the name.
 */
export function createConnector(
  target: Target,
  options: ConnectorOptions,
): buildConnector.connector {
  const { guard, proxy, secureContext, timeoutMs } = options;
  const connect = buildConnector({
    allowH2: true,
    autoSelectFamily: true,
    lookup: vettedLookup(guard, target),
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment changes nothing.
    rejectUnauthorized: true,
    secureContext,
    timeout: timeoutMs,
  });
  if (proxy === undefined) {
    const open: buildConnector.connector = (connection, callback) => {
      connect(connection, (...result) => {
        if (result[0] !== null) return callback(...result);
        if (reachedWhatWasVetted(guard, target, result[1])) return hand(result[1], callback);
        result[1].destroy();
        callback(new AddressRefused(), null);
      });
    };
    if (target.literal === undefined) return open;
    // No look-up is made for an address, in which it would be vetted.
    const vet = callbackify(() => guard.vettedAddresses(target));
    return (connection, callback) => {
      vet((error) => (error === null ? open(connection, callback) : callback(error, null)));
    };
  }
  const tunnelTo = callbackify(async () => {
    const addresses = await guard.vettedAddresses(target);
    return await openTunnel({ proxy, secureContext, addresses, port: target.port, timeoutMs });
  });
  return (connection, callback) => {
    tunnelTo((error, httpSocket) => {
      if (error !== null) return callback(error, null);
      if (!target.secure) return hand(httpSocket, callback);
      connect({ ...connection, httpSocket }, (...result) => {
        if (result[0] === null) hand(result[1], callback);
        else callback(...result);
      });
    });
  };
}

/**
 * Hands a socket to undici. Once a head is too large, undici still parses what it has read and makes
 * an error, with its stack, for each header more: a tenth of a second of CPU for one hostile answer.
 * The stacks are the cost, so they are left out until that piece of input is through.
 */
function hand(socket: Socket, callback: buildConnector.Callback): void {
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

function vettedLookup(guard: Guard, target: Target): LookupFunction {
  const vettedAddresses = callbackify(() => guard.vettedAddresses(target));
  return (_hostname, options, callback) => {
    vettedAddresses((error, texts) => {
      if (error !== null) return callback(error, []);
      const addresses = texts.map((address) => ({ address, family: isIP(address) }));
      const first = addresses[0]!;
      if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/** Belt to the braces of the look-up: the peer that the kernel reports must itself pass the rule. */
function reachedWhatWasVetted(guard: Guard, target: Target, socket: Socket): boolean {
  const address = parseAddress(socket.remoteAddress ?? '');
  return address !== undefined && guard.isReachable(target, address);
}
