/**
 * This file is preloaded in the importer's processes. It makes every name look-up and every use of
 * a socket throw. The corpus run then reports the document that caused the error as crashed.
 */
import dgram from 'node:dgram';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';

const throwOnUse = (functionName: string) => () => {
  throw new Error(`the importer wanted the network: ${functionName}`);
};

net.Socket.prototype.connect = throwOnUse('connect');
dgram.Socket.prototype.send = throwOnUse('send');
for (const name of ['lookup', 'resolve', 'resolve4', 'resolve6', 'resolveAny'] as const) {
  dns[name] = throwOnUse(name) as never;
  dns.promises[name as 'lookup'] = throwOnUse(name) as never;
}
globalThis.fetch = throwOnUse('fetch') as never;
syncBuiltinESMExports();
