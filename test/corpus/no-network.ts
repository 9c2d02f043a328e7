/**
 * This file is preloaded into the importer's processes. It makes every name lookup and every socket
 * throw, and the corpus run reports the error as a crash of the document that caused it.
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
