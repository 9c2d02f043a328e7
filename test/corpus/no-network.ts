/**
 * Loaded into the importer's processes before anything of ours: whoever looks up a name or opens a
 * socket fails, which the run reports as a crash of that document.
 */
import dgram from 'node:dgram';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';

const forbidden = (what: string) => () => {
  throw new Error(`the importer wanted the network: ${what}`);
};

net.Socket.prototype.connect = forbidden('connect');
dgram.Socket.prototype.send = forbidden('send');
for (const name of ['lookup', 'resolve', 'resolve4', 'resolve6', 'resolveAny'] as const) {
  dns[name] = forbidden(name) as never;
  dns.promises[name as 'lookup'] = forbidden(name) as never;
}
globalThis.fetch = forbidden('fetch') as never;
syncBuiltinESMExports();
