import { jetstreamManager } from '@nats-io/jetstream';
import { connect, PermissionViolationError } from '@nats-io/transport-node';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { busContracts } from '#contracts/all';
import { subjectOf } from '#contracts/define';
import type { Contract } from '#contracts/define';
import { durableConsumers, plainPublications, plainSubscriptions } from '#contracts/events';
import { filesPublications, filesStream } from '#contracts/files';
import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { createTestEnvironment } from '../support/environment.ts';
import type { TestEnvironment } from '../support/environment.ts';

const endpoints = Object.values(busContracts).flatMap((contract: Contract) =>
  Object.entries(contract.endpoints).map(([name, { callers }]) => ({
    subject: subjectOf(contract, name),
    callers,
  })),
);

/** What a component may publish, from the contracts, read here once more. */
function mayPublish(component: Component): string[] {
  const plain: Partial<Record<Component, readonly string[]>> = plainPublications;
  return [
    ...endpoints.filter(({ callers }) => callers.includes(component)).map(({ subject }) => subject),
    `evt.${component}.matrix`,
    `aud.${component}.matrix`,
    ...(plain[component] ?? []),
    ...filesSubjects(component),
    ...Object.entries(durableConsumers)
      .filter(([, { owner }]) => owner === component)
      .flatMap(([durable]) => durableSubjects(durable)),
  ];
}

function filesSubjects(component: Component): string[] {
  const files: Partial<Record<Component, readonly string[]>> = filesPublications;
  return (files[component] ?? []).map((subject) => subject.replace('*', 'matrix'));
}

const durableSubjects = (durable: string) => [
  `$JS.API.CONSUMER.INFO.EVENTS.${durable}`,
  `$JS.API.CONSUMER.MSG.NEXT.EVENTS.${durable}`,
  `$JS.ACK.EVENTS.${durable}.1.1.1.1.1`,
];

/** Everything anybody has a reason to try. */
const everySubject = [
  ...endpoints.map(({ subject }) => subject),
  ...components.flatMap((component) => [
    `evt.${component}.matrix`,
    `aud.${component}.matrix`,
    `rpc.${component}.v1.undeclared`,
    `rpc.${component}.v2.ping`,
    `_INBOX_${component}.guessed`,
  ]),
  ...Object.keys(durableConsumers).flatMap(durableSubjects),
  ...components.flatMap(filesSubjects),
  ...['$O.files.C.a.b', '$O.files.X', '$O.other.C.matrix', '$O.other.M.matrix'],
  ...['feed.v1', 'beat.gateway.v1', '_INBOX.guessed', 'EVENTS', 'evt', 'anything'],
  ...['$SYS.REQ.SERVER.PING', '$SYS.REQ.ACCOUNT.gateway.CONNZ', '$SYS.ACCOUNT.gateway.CONNECT'],
  ...[
    'INFO',
    'ACCOUNT.PURGE.gateway',
    'STREAM.NAMES',
    'STREAM.LIST',
    'STREAM.INFO.EVENTS',
    'STREAM.CREATE.OTHER',
    'STREAM.UPDATE.EVENTS',
    'STREAM.PURGE.EVENTS',
    'STREAM.DELETE.EVENTS',
    'STREAM.MSG.GET.EVENTS',
    'STREAM.MSG.DELETE.EVENTS',
    'STREAM.SNAPSHOT.EVENTS',
    'STREAM.RESTORE.OTHER',
    'STREAM.LEADER.STEPDOWN.EVENTS',
    'DIRECT.GET.EVENTS',
    'CONSUMER.NAMES.EVENTS',
    'CONSUMER.LIST.EVENTS',
    'CONSUMER.CREATE.EVENTS',
    'CONSUMER.CREATE.EVENTS.spy.evt.>',
    'CONSUMER.DURABLE.CREATE.EVENTS.spy',
    'CONSUMER.DELETE.EVENTS.audit',
    'CONSUMER.PAUSE.EVENTS.audit',
    'CONSUMER.INFO.EVENTS.spy',
    'CONSUMER.MSG.NEXT.EVENTS.spy',
    ...['INFO', 'UPDATE', 'DELETE', 'MSG.DELETE'].map((call) => `STREAM.${call}.OBJ_files`),
    ...['CONSUMER.CREATE.OBJ_files', 'CONSUMER.CREATE.OBJ_files.spy.$O.files.>'],
    ...['STREAM.MSG.GET.OBJ_other', 'STREAM.PURGE.OBJ_other', 'DIRECT.GET.OBJ_other'],
  ].map((call) => `$JS.API.${call}`),
];

const wildcards = [
  ...['>', '*', '*.>', '*.*', 'rpc.>', 'rpc.*.v1.ping', 'evt.>', 'evt.*.approval.raised', 'aud.>'],
  ...[
    '_INBOX.>',
    '_INBOX*.>',
    '$JS.>',
    '$JS.API.>',
    '$JS.ACK.>',
    '$SYS.>',
    'feed.>',
    'beat.>',
    '$O.>',
    '$O.files.>',
  ],
];
const everySubscription = [
  ...wildcards,
  ...components.flatMap((component) => [
    `rpc.${component}.>`,
    `evt.${component}.>`,
    `aud.${component}.>`,
    `_INBOX_${component}.>`,
    `_INBOX_${component}.*`,
  ]),
  ...['feed.v1', 'beat.gateway.v1', 'evt.executor.secret.>'],
  '$JS.EVENT.ADVISORY.>',
];

function maySubscribe(component: Component): Set<string> {
  return new Set([
    ...[`rpc.${component}.>`, `_INBOX_${component}.>`, `_INBOX_${component}.*`],
    ...plainSubscriptions[component],
  ]);
}

describe('on the bus', () => {
  let environment: TestEnvironment;
  const connections = new Map<Component, NatsConnection>();
  beforeAll(async () => {
    environment = await createTestEnvironment({ serverLogLevel: 'silent' });
    for (const component of components) {
      connections.set(component, (await environment.connect(component)).nats);
    }
  });
  afterAll(() => environment[Symbol.asyncDispose]());
  const of = (component: Component) => connections.get(component) as NatsConnection;

  test.for(components.map((component) => [component]))(
    '%s publishes what the contracts name it for, and nothing else',
    async ([component = 'gateway']) => {
      const allowed = mayPublish(component);
      const arrived: string[] = [];
      const owners = components.filter((each) => each !== component);
      const subscriptions = owners.map((owner) =>
        of(owner).subscribe(`rpc.${owner}.>`, {
          callback: (_, message) => void arrived.push(message.subject),
        }),
      );
      await Promise.all(owners.map((owner) => of(owner).flush()));

      const refused = await violationsOf(of(component), () => {
        for (const subject of everySubject) of(component).publish(subject);
      });
      await Promise.all(owners.map((owner) => of(owner).flush()));
      for (const subscription of subscriptions) subscription.unsubscribe();

      expect(refused).toEqual(
        new Set(everySubject.filter((subject) => !allowed.includes(subject))),
      );
      const calls = allowed.filter((subject) => subject.startsWith('rpc.'));
      expect(arrived.toSorted()).toEqual(
        calls.filter((subject) => !subject.startsWith(`rpc.${component}.`)).toSorted(),
      );
    },
  );

  test.for(
    components.flatMap(
      (component) =>
        [
          [component, 'alone'],
          [component, 'in a queue'],
        ] as const,
    ),
  )('%s hears what it answers and consumes, and nothing else, %s', async ([component, how]) => {
    const allowed = maySubscribe(component);
    const nats = of(component);
    const options = { callback: () => undefined, ...(how === 'in a queue' && { queue: 'spy' }) };
    const refused = await violationsOf(nats, () => {
      for (const subject of everySubscription) nats.subscribe(subject, options).unsubscribe(1);
    });

    expect(refused).toEqual(new Set(everySubscription.filter((subject) => !allowed.has(subject))));
  });

  test('the stream holds what each component published below its own name, and is as it was', async () => {
    const { servers, password } = addressIn(environment);
    const provision = await connect({
      ...{ servers, user: 'provision', pass: password, inboxPrefix: '_INBOX_provision' },
    });
    const manager = await jetstreamManager(provision);
    const { state } = await manager.streams.info('EVENTS', { subjects_filter: '>' });
    const names = await manager.streams.names().next();
    await provision.close();

    expect(Object.keys(state.subjects ?? {}).toSorted()).toEqual(
      components.flatMap((each) => [`evt.${each}.matrix`, `aud.${each}.matrix`]).toSorted(),
    );
    expect(Object.values(state.subjects ?? {})).toEqual(components.flatMap(() => [1, 1]));
    expect(state.consumer_count).toBe(Object.keys(durableConsumers).length);
    expect(names).toEqual(['EVENTS', filesStream]);
  });

  test('a request is answered once: a second reply is refused', async () => {
    const subscription = of('auth').subscribe('rpc.auth.v1.ping', {
      callback: (_, message) => {
        message.respond('first');
        of('auth').publish(message.reply ?? '', 'second');
      },
    });
    await of('auth').flush();
    const refused = await violationsOf(of('auth'), async () => {
      const reply = await of('gateway').request('rpc.auth.v1.ping', '', { timeout: 2_000 });
      expect(reply.string()).toBe('first');
    });
    subscription.unsubscribe();

    expect([...refused]).toEqual([expect.stringMatching(/^_INBOX_gateway\./)]);
  });

  test('nobody gets in without a name or with a wrong password', async () => {
    const { servers } = addressIn(environment);
    for (const login of [{}, { user: 'gateway', pass: 'wrong' }, { user: 'nobody', pass: '' }]) {
      await expect(connect({ servers, reconnect: false, ...login })).rejects.toThrow(/auth/i);
    }
  });
});

/** Subjects that the server refused to a connection while `attempt` ran. */
async function violationsOf(nats: NatsConnection, attempt: () => unknown): Promise<Set<string>> {
  const refused = new Set<string>();
  const status = nats.status();
  const reading = (async () => {
    for await (const event of status) {
      if (event.type === 'error' && event.error instanceof PermissionViolationError) {
        refused.add(event.error.subject);
      }
    }
  })();
  await attempt();
  await nats.flush();
  // What the server says about it comes before the answer to a flush, but is told a turn later.
  await new Promise((resolve) => setTimeout(resolve, 50));
  (status as AsyncIterable<unknown> & { stop?(): void }).stop?.();
  await Promise.race([reading, Promise.resolve()]);
  return refused;
}

function addressIn({ variables }: TestEnvironment): { servers: string; password: string } {
  const url = new URL(variables['GATEWAY_NATS_URL'] ?? '');
  return { servers: url.host, password: decodeURIComponent(url.password) };
}
