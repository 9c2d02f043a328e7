/**
 * Runs inside network and mount namespaces in which the only name server never answers. Calls an
 * upstream whose address is in /etc/hosts while eight other host names are being looked up. Prints
 * the status of the answer, or the code of the failure. `namespace.integration.test.ts` starts it.
 */
import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { AppError } from '#errors';
import { openEgress, parseEgressAllow } from './index.ts';

const resolverConfigPath = join(mkdtempSync(join(tmpdir(), 'aag-names-')), 'resolv.conf');
writeFileSync(resolverConfigPath, 'nameserver 127.0.0.1\n');
execFileSync('ip', ['link', 'set', 'lo', 'up']);
execFileSync('mount', ['--bind', resolverConfigPath, '/etc/resolv.conf']);
const silentSocket = createSocket('udp4').bind(53, '127.0.0.1');
await once(silentSocket, 'listening');

const upstream = createServer((_request, reply) => reply.end()).listen(0, 'localhost');
await once(upstream, 'listening');
const { port } = upstream.address() as AddressInfo;
const egress = openEgress({ allow: parseEgressAllow('127.0.0.0/8,::1/128') });
const call = (url: string) =>
  egress.request({ method: 'GET', url }).then(
    ({ status }) => String(status),
    (error: unknown) => AppError.from(error).code,
  );

const others = Array.from({ length: 8 }, (_, n) => call(`https://dead-${n}.test/`));
const answerOfFallback = await call(`http://localhost:${port}/`);
process.stdout.write(
  JSON.stringify({ answered: answerOfFallback, others: [...new Set(await Promise.all(others))] }),
);
// The process exits here, because look-ups cannot be cancelled.
process.exit();
