import { jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';

import { connectBus } from '#bus';
import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { createTestEnvironment } from '../../support/environment.ts';
import { startUnrestrictedNats } from '../../support/unrestricted-nats.ts';

interface Heard {
  /** Who heard it; what JetStream delivers comes under the subject of the event. */
  readonly component: Component;
  readonly subject: string;
  readonly body: string;
  readonly reply: string | undefined;
}

/** A bus on which every component answers, and what an attacker with credentials of one of them sees and does. */
export interface Stage extends AsyncDisposable {
  /** Logged in as the component; as its reader where the component reads the stream. */
  as(component: Component): NatsConnection;
  readerOf(component: 'audit' | 'notifier' | 'policy'): NatsConnection;
  /** What JetStream's API is called by components. */
  readonly api: string;
  /** The streams, as the migration sees them. */
  readonly store: JetStreamManager;
  /** Every request that reached a component, whoever sent it. */
  readonly requests: Heard[];
  /** Returns when what was published until now has arrived, also what it caused. */
  settle(): Promise<void>;
}

/** The real accounts. */
export async function openStage(): Promise<Stage> {
  await using startup = new AsyncDisposableStack();
  const environment = startup.use(await createTestEnvironment({ serverLogLevel: 'silent' }));
  const own = new Map<string, NatsConnection>();
  for (const component of components) {
    own.set(component, (await environment.connect(component)).nats);
  }
  for (const component of ['audit', 'notifier', 'policy'] as const) {
    own.set(`${component}_reader`, (await environment.connectReader(component)).nats);
  }
  const url = (environment.variables['GATEWAY_NATS_URL'] ?? '').replace('gateway:', 'provision:');
  const provision = startup.use(await connectBus({ url, name: 'provision' }));
  return perform({ own, provision: provision.nats, api: 'STORE.API', stack: startup.move() });
}

/** The same on a server that restricts nobody: the attack works there, or it would show nothing. */
export async function openUnrestrictedStage(): Promise<Stage> {
  await using startup = new AsyncDisposableStack();
  const server = startup.use(await startUnrestrictedNats());
  const own = new Map<string, NatsConnection>();
  for (const component of components) own.set(component, (await server.connect(component)).nats);
  for (const component of ['audit', 'notifier', 'policy'] as const) {
    own.set(`${component}_reader`, own.get(component) as NatsConnection);
  }
  const provision = await server.connect('provision');
  return perform({ own, provision: provision.nats, api: '$JS.API', stack: startup.move() });
}

async function perform({
  own,
  provision,
  api,
  stack,
}: {
  own: ReadonlyMap<string, NatsConnection>;
  provision: NatsConnection;
  api: string;
  stack: AsyncDisposableStack;
}): Promise<Stage> {
  const requests: Heard[] = [];
  for (const component of components.filter((each) => each !== 'gateway')) {
    own.get(component)?.subscribe(`rpc.${component}.>`, {
      callback(_, message) {
        requests.push({
          component,
          subject: message.subject,
          body: message.string(),
          reply: message.reply,
        });
        message.respond('{}');
      },
    });
  }
  const connections = [...own.values(), provision];
  await Promise.all(connections.map((nats) => nats.flush()));
  return {
    as: (component) => own.get(component) as NatsConnection,
    readerOf: (component) => own.get(`${component}_reader`) as NatsConnection,
    api,
    store: await jetstreamManager(provision),
    requests,
    async settle() {
      for (let round = 0; round < 4; round += 1) {
        await Promise.all(connections.map((nats) => nats.flush()));
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
