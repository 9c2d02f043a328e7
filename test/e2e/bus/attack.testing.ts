import { jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';

import { connectBus } from '#bus';
import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { createTestEnvironment } from '../../support/environment.ts';
import { startUnrestrictedNats } from '../../support/unrestricted-nats.ts';

interface ReceivedRequest {
  /**
   * The component that received the request. `subject` can belong to another component, because
   * JetStream delivers an event under the event's own subject.
   */
  readonly component: Component;
  readonly subject: string;
  readonly body: string;
  readonly reply: string | undefined;
}

/** A bus on which every component answers. An attacker has the credentials of one component. */
export interface Stage extends AsyncDisposable {
  /**
   * `as` returns a component's own connection; `readerOf` returns the connection with which the
   * component reads the stream.
   */
  as(component: Component): NatsConnection;
  readerOf(component: 'audit' | 'notifier' | 'policy'): NatsConnection;
  /** The prefix of the subjects with which components call JetStream's API. */
  readonly apiPrefix: string;
  /** Gives the checks access to the streams, with the rights of the migration. */
  readonly streamManager: JetStreamManager;
  /** Every request that reached a component, from any sender. */
  readonly requests: ReceivedRequest[];
  /**
   * Resolves when all messages published so far have arrived, and all messages that components
   * published in reaction.
   */
  settle(): Promise<void>;
}

/** Starts a bus with the accounts and permissions of production. */
export async function openStage(): Promise<Stage> {
  await using startup = new AsyncDisposableStack();
  const environment = startup.use(await createTestEnvironment({ serverLogLevel: 'silent' }));
  const connectionsByComponent = new Map<string, NatsConnection>();
  for (const component of components) {
    connectionsByComponent.set(component, (await environment.connect(component)).nats);
  }
  for (const component of ['audit', 'notifier', 'policy'] as const) {
    connectionsByComponent.set(
      `${component}_reader`,
      (await environment.connectReader(component)).nats,
    );
  }
  const url = (environment.variables['GATEWAY_NATS_URL'] ?? '').replace('gateway:', 'provision:');
  const provision = startup.use(await connectBus({ url, name: 'provision' }));
  return buildStage({
    own: connectionsByComponent,
    provision: provision.nats,
    apiPrefix: 'STORE.API',
    stack: startup.move(),
  });
}

/**
 * Starts a bus on a server without permissions. Each attack must succeed on this bus: otherwise its
 * failure on the bus with production's permissions would prove nothing.
 */
export async function openUnrestrictedStage(): Promise<Stage> {
  await using startup = new AsyncDisposableStack();
  const server = startup.use(await startUnrestrictedNats());
  const connectionsByComponent = new Map<string, NatsConnection>();
  for (const component of components)
    connectionsByComponent.set(component, (await server.connect(component)).nats);
  for (const component of ['audit', 'notifier', 'policy'] as const) {
    connectionsByComponent.set(
      `${component}_reader`,
      connectionsByComponent.get(component) as NatsConnection,
    );
  }
  const provision = await server.connect('provision');
  return buildStage({
    own: connectionsByComponent,
    provision: provision.nats,
    apiPrefix: '$JS.API',
    stack: startup.move(),
  });
}

async function buildStage({
  own,
  provision,
  apiPrefix: api,
  stack,
}: {
  own: ReadonlyMap<string, NatsConnection>;
  provision: NatsConnection;
  apiPrefix: string;
  stack: AsyncDisposableStack;
}): Promise<Stage> {
  const requests: ReceivedRequest[] = [];
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
    apiPrefix: api,
    streamManager: await jetstreamManager(provision),
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
