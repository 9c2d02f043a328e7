import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { pino } from 'pino';

import { connectBus } from '#bus';
import type { Bus } from '#bus';
import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { provisionBus } from '../../provision.ts';
import { startNats } from '../../services-src/embedded/index.ts';
import { smallStreams } from './streams.ts';

export interface UnrestrictedNats extends AsyncDisposable {
  connect(component: Component | 'provision'): Promise<Bus>;
}

const password = 'CANARY-bus-password';

/**
 * Starts a NATS server that has the product's streams but not its permissions: all users share one
 * account, and may publish to and subscribe to every subject. Tests use this server to show that an
 * attack succeeds if nothing prevents it.
 */
export async function startUnrestrictedNats(): Promise<UnrestrictedNats> {
  await using startup = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-unrestricted-'));
  startup.defer(() => rm(dataDir, { recursive: true, force: true }));
  const users = [...components, 'provision'].map(
    (user) => `{ user: ${user}, password: "${password}" }`,
  );
  const server = startup.use(
    await startNats({
      dataDir,
      logger: pino({ level: 'silent' }),
      config: `accounts { gateway { jetstream: enabled, users: [${users.join(', ')}] } }`,
    }),
  );
  const urlOf = (user: string) => server.url.replace('nats://', `nats://${user}:${password}@`);
  await provisionBus({
    natsUrl: urlOf('provision'),
    ...smallStreams,
  });

  const running = startup.move();
  return {
    connect: async (name) => running.use(await connectBus({ url: urlOf(name), name })),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
