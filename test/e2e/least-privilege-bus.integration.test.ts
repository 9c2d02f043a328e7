import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { busContracts } from '#contracts/all';
import { subjectOf } from '#contracts/define';
import type { Contract } from '#contracts/define';
import { durableConsumers, plainPublications, plainSubscriptions } from '#contracts/events';
import { filesStream } from '#contracts/files';
import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { createTestEnvironment } from '../support/environment.ts';
import type { TestEnvironment } from '../support/environment.ts';
import { violationsOf } from '../support/nats-violations.ts';

const endpoints = Object.values(busContracts).flatMap((contract: Contract) =>
  Object.entries(contract.endpoints).map(([name, { callers }]) => ({
    subject: subjectOf(contract, name),
    callers,
  })),
);

/** Who logs in: every component, and once more each that reads the stream. */
const readers = new Map(
  Object.entries(durableConsumers).map(([durable, { owner }]) => [
    `${owner}_reader`,
    { durable, owner },
  ]),
);
const users = [...components, ...readers.keys()];

/** What a user may publish, from the contracts, read here once more. */
function mayPublish(user: string): string[] {
  const reader = readers.get(user);
  if (reader !== undefined) return durableSubjects(reader.durable);
  const component = user as Component;
  const plain: Partial<Record<Component, readonly string[]>> = plainPublications;
  return [
    ...endpoints.filter(({ callers }) => callers.includes(component)).map(({ subject }) => subject),
    `evt.${component}.matrix`,
    `aud.${component}.matrix`,
    ...(plain[component] ?? []),
    ...(component === 'executor' ? ['$O.files.C.matrix'] : []),
    ...(component === 'gateway' ? [`STORE.API.DIRECT.GET.${filesStream}`] : []),
  ];
}

const durableSubjects = (durable: string) => [
  `STORE.API.CONSUMER.INFO.EVENTS.${durable}`,
  `STORE.API.CONSUMER.MSG.NEXT.EVENTS.${durable}`,
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
    `rpc.${component}.v1.ping.c_gateway`,
    `_INBOX_${component}.guessed`,
    `_INBOX_${component}_reader.guessed`,
  ]),
  ...Object.keys(durableConsumers).flatMap(durableSubjects),
  '$O.files.C.matrix',
  '$O.files.C.a.b',
  '$O.files.M.matrix',
  '$O.files.X',
  '$O.other.C.matrix',
  '$O.other.M.matrix',
  '_R_.guessed',
  'feed.v1',
  'beat.gateway.v1',
  'gone.gateway.v1',
  '_INBOX.guessed',
  'EVENTS',
  'evt',
  'anything',
  '$SYS.REQ.SERVER.PING',
  '$SYS.REQ.ACCOUNT.gateway.CONNZ',
  '$SYS.ACCOUNT.gateway.CONNECT',
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
    ...['INFO', 'UPDATE', 'DELETE', 'MSG.DELETE', 'MSG.GET', 'PURGE'].map(
      (call) => `STREAM.${call}.OBJ_files`,
    ),
    'CONSUMER.INFO.EVENTS.audit',
    'CONSUMER.MSG.NEXT.EVENTS.audit',
    'DIRECT.GET.OBJ_files',
    'CONSUMER.CREATE.OBJ_files',
    'CONSUMER.CREATE.OBJ_files.spy.$O.files.>',
    'STREAM.MSG.GET.OBJ_other',
    'STREAM.PURGE.OBJ_other',
    'DIRECT.GET.OBJ_other',
  ].flatMap((call) => [`$JS.API.${call}`, `STORE.API.${call}`]),
].filter((subject, at, all) => all.indexOf(subject) === at);

const wildcards = [
  '>',
  '*',
  '*.>',
  '*.*',
  'rpc.>',
  'rpc.*.v1.ping',
  'evt.>',
  'evt.*.approval.raised',
  'aud.>',
  '_INBOX.>',
  '_INBOX*.>',
  '$JS.>',
  '$JS.API.>',
  '$JS.ACK.>',
  '$SYS.>',
  'feed.>',
  'beat.>',
  'gone.>',
  '$O.>',
  '$O.files.>',
  '_R_.>',
  'STORE.>',
  'STORE.API.>',
];
const everySubscription = [
  ...wildcards,
  ...components.flatMap((component) => [
    `rpc.${component}.>`,
    `evt.${component}.>`,
    `aud.${component}.>`,
    `_INBOX_${component}.>`,
    `_INBOX_${component}.*`,
    `_INBOX_${component}_reader.>`,
  ]),
  'feed.v1',
  'beat.gateway.v1',
  'gone.gateway.v1',
  'evt.executor.secret.>',
  '$JS.EVENT.ADVISORY.>',
];

function maySubscribe(user: string): Set<string> {
  if (readers.has(user)) return new Set([`_INBOX_${user}.>`]);
  const answers = user === 'gateway' ? [] : [`rpc.${user}.>`];
  return new Set([
    ...answers,
    `_INBOX_${user}.>`,
    `_INBOX_${user}.*`,
    ...plainSubscriptions[user as Component],
  ]);
}

describe('on the bus', () => {
  let environment: TestEnvironment;
  const connections = new Map<string, NatsConnection>();
  beforeAll(async () => {
    environment = await createTestEnvironment({ serverLogLevel: 'silent' });
    for (const component of components) {
      connections.set(component, (await environment.connect(component)).nats);
    }
    for (const [user, { owner }] of readers) {
      connections.set(user, (await environment.connectReader(owner)).nats);
    }
  });
  afterAll(() => environment[Symbol.asyncDispose]());
  const of = (user: string) => connections.get(user) as NatsConnection;

  test.for(users.map((user) => [user]))(
    '%s publishes what the contracts name it for, and nothing else',
    async ([user = 'gateway']) => {
      const allowed = mayPublish(user);
      const arrived: string[] = [];
      const owners = components.filter((each) => each !== 'gateway');
      const subscriptions = owners.map((owner) =>
        of(owner).subscribe(`rpc.${owner}.>`, {
          callback: (_, message) => void arrived.push(message.subject),
        }),
      );
      await Promise.all(owners.map((owner) => of(owner).flush()));

      const refused = await violationsOf(of(user), () => {
        for (const subject of everySubject) of(user).publish(subject);
      });
      await Promise.all(owners.map((owner) => of(owner).flush()));
      for (const subscription of subscriptions) subscription.unsubscribe();

      expect(refused).toEqual(
        new Set(everySubject.filter((subject) => !allowed.includes(subject))),
      );
      // The server says to the owner who asks, whatever the requester claims.
      const calls = allowed.filter((subject) => subject.startsWith('rpc.'));
      expect(arrived.toSorted()).toEqual(calls.map((subject) => `${subject}.c_${user}`).toSorted());
    },
  );

  test.for(
    users.flatMap(
      (user) =>
        [
          [user, 'alone'],
          [user, 'in a queue'],
        ] as const,
    ),
  )('%s hears what it answers and consumes, and nothing else, %s', async ([user, how]) => {
    const allowed = maySubscribe(user);
    const nats = of(user);
    const options = { callback: () => undefined, ...(how === 'in a queue' && { queue: 'spy' }) };
    const refused = await violationsOf(nats, () => {
      for (const subject of everySubscription) nats.subscribe(subject, options).unsubscribe(1);
    });

    expect(refused).toEqual(new Set(everySubscription.filter((subject) => !allowed.has(subject))));
  });

  test('the stream holds what each component published below its own name, and is as it was', async () => {
    const { servers, password } = addressIn(environment);
    const provision = await connect({
      servers,
      user: 'provision',
      pass: password,
      inboxPrefix: '_INBOX_provision',
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
    const subscription = of('auth').subscribe('rpc.auth.v1.ping.*', {
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

    expect([...refused]).toEqual([expect.stringMatching(/^_R_\./)]);
  });

  test('nobody gets in without a name or with a wrong password', async () => {
    const { servers } = addressIn(environment);
    for (const login of [{}, { user: 'gateway', pass: 'wrong' }, { user: 'nobody', pass: '' }]) {
      await expect(connect({ servers, reconnect: false, ...login })).rejects.toThrow(/auth/i);
    }
  });
});

function addressIn({ variables }: TestEnvironment): { servers: string; password: string } {
  const url = new URL(variables['GATEWAY_NATS_URL'] ?? '');
  return { servers: url.host, password: decodeURIComponent(url.password) };
}
