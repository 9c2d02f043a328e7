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

/**
 * The second NATS users. Each component has one NATS user; a component that reads a stream has a
 * second user for reading.
 */
const readersByUser = new Map(
  Object.entries(durableConsumers).map(([durable, { owner, stream }]) => [
    `${owner}_reader`,
    { consumer: `${stream}.${durable}`, owner },
  ]),
);
const streamNames = ['AUDIT', 'EVENTS'];
const users = [...components, ...readersByUser.keys()];

/**
 * The subjects that a NATS user may publish to. The test derives them from the contracts itself,
 * without the code that generates the accounts.
 */
function publishableSubjectsOf(user: string): string[] {
  const reader = readersByUser.get(user);
  if (reader !== undefined) return consumerSubjects(reader.consumer);
  const component = user as Component;
  const plainSubjects: Partial<Record<Component, readonly string[]>> = plainPublications;
  return [
    ...endpoints.filter(({ callers }) => callers.includes(component)).map(({ subject }) => subject),
    `evt.${component}.matrix`,
    `aud.${component}.matrix`,
    ...(plainSubjects[component] ?? []),
    ...(component === 'executor' ? ['$O.files.C.matrix'] : []),
    // The server accepts messages to this subject, but drops them if they answer no request.
    ...(component === 'gateway' ? [] : ['_R_.guessed']),
    ...(component === 'audit' ? [] : streamNames.map((name) => `STORE.API.STREAM.INFO.${name}`)),
    ...(component === 'gateway'
      ? [
          `STORE.API.DIRECT.GET.${filesStream}`,
          ...consumerNames.map((name) => `STORE.API.CONSUMER.INFO.${name}`),
        ]
      : []),
  ];
}

const consumerNames = ['AUDIT.audit', 'EVENTS.notifier', 'EVENTS.policy'];
const consumerSubjects = (consumer: string) => [
  `STORE.API.CONSUMER.INFO.${consumer}`,
  `STORE.API.CONSUMER.MSG.NEXT.${consumer}`,
  `$JS.ACK.${consumer}.1.1.1.1.1`,
];

/** Every subject that any client could have a reason to publish to. */
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
  ...consumerNames.flatMap(consumerSubjects),
  ...['AUDIT.notifier', 'AUDIT.policy', 'EVENTS.audit'].flatMap(consumerSubjects),
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
  'AUDIT',
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
    'STREAM.CREATE.OTHER',
    'STREAM.RESTORE.OTHER',
    'STREAM.INFO.OTHER',
    ...streamNames.flatMap((name) => [
      `STREAM.INFO.${name}`,
      `STREAM.UPDATE.${name}`,
      `STREAM.PURGE.${name}`,
      `STREAM.DELETE.${name}`,
      `STREAM.MSG.GET.${name}`,
      `STREAM.MSG.DELETE.${name}`,
      `STREAM.SNAPSHOT.${name}`,
      `STREAM.LEADER.STEPDOWN.${name}`,
      `DIRECT.GET.${name}`,
      `CONSUMER.NAMES.${name}`,
      `CONSUMER.LIST.${name}`,
      `CONSUMER.CREATE.${name}`,
      `CONSUMER.CREATE.${name}.spy.>`,
      `CONSUMER.DURABLE.CREATE.${name}.spy`,
      `CONSUMER.INFO.${name}.spy`,
      `CONSUMER.MSG.NEXT.${name}.spy`,
    ]),
    'CONSUMER.DELETE.AUDIT.audit',
    'CONSUMER.DELETE.EVENTS.notifier',
    'CONSUMER.PAUSE.AUDIT.audit',
    ...['INFO', 'UPDATE', 'DELETE', 'MSG.DELETE', 'MSG.GET', 'PURGE'].map(
      (call) => `STREAM.${call}.OBJ_files`,
    ),
    'CONSUMER.INFO.AUDIT.audit',
    'CONSUMER.MSG.NEXT.AUDIT.audit',
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

function subscribableSubjectsOf(user: string): Set<string> {
  if (readersByUser.has(user)) return new Set([`_INBOX_${user}.>`]);
  const answeredSubjects = user === 'gateway' ? [] : [`rpc.${user}.>`];
  return new Set([
    ...answeredSubjects,
    `_INBOX_${user}.>`,
    `_INBOX_${user}.*`,
    ...plainSubscriptions[user as Component],
  ]);
}

describe('the NATS bus', () => {
  let environment: TestEnvironment;
  const connections = new Map<string, NatsConnection>();
  beforeAll(async () => {
    environment = await createTestEnvironment({ serverLogLevel: 'silent' });
    for (const component of components) {
      connections.set(component, (await environment.connect(component)).nats);
    }
    for (const [user, { owner }] of readersByUser) {
      connections.set(user, (await environment.connectReader(owner)).nats);
    }
  });
  afterAll(() => environment[Symbol.asyncDispose]());
  const connectionOf = (user: string) => connections.get(user) as NatsConnection;

  test.for(users.map((user) => [user]))(
    'the user %s can publish only what the contracts allow',
    async ([user = 'gateway']) => {
      const allowed = publishableSubjectsOf(user);
      const arrivedSubjects: string[] = [];
      const owners = components.filter((each) => each !== 'gateway');
      const subscriptions = owners.map((owner) =>
        connectionOf(owner).subscribe(`rpc.${owner}.>`, {
          callback: (_, message) => void arrivedSubjects.push(message.subject),
        }),
      );
      await Promise.all(owners.map((owner) => connectionOf(owner).flush()));

      const refused = await violationsOf(connectionOf(user), () => {
        for (const subject of everySubject) connectionOf(user).publish(subject);
      });
      await Promise.all(owners.map((owner) => connectionOf(owner).flush()));
      for (const subscription of subscriptions) subscription.unsubscribe();

      expect(refused).toEqual(
        new Set(everySubject.filter((subject) => !allowed.includes(subject))),
      );
      // The server appends the sender's user name to the subject, so a sender cannot claim another
      // name.
      const callableSubjects = allowed.filter((subject) => subject.startsWith('rpc.'));
      expect(arrivedSubjects.toSorted()).toEqual(
        callableSubjects.map((subject) => `${subject}.c_${user}`).toSorted(),
      );
    },
  );

  test.for(
    users.flatMap(
      (user) =>
        [
          [user, 'as a single subscriber'],
          [user, 'in a queue'],
        ] as const,
    ),
  )(
    'the user %s can subscribe only to the requests that it answers and the events that it consumes (%s)',
    async ([user, how]) => {
      const allowed = subscribableSubjectsOf(user);
      const nats = connectionOf(user);
      const options = { callback: () => undefined, ...(how === 'in a queue' && { queue: 'spy' }) };
      const refused = await violationsOf(nats, () => {
        for (const subject of everySubscription) nats.subscribe(subject, options).unsubscribe(1);
      });

      expect(refused).toEqual(
        new Set(everySubscription.filter((subject) => !allowed.has(subject))),
      );
    },
  );

  test('each stream contains only messages that a component published below its own name', async () => {
    const { servers, password } = addressIn(environment);
    const provision = await connect({
      servers,
      user: 'provision',
      pass: password,
      inboxPrefix: '_INBOX_provision',
    });
    const manager = await jetstreamManager(provision);
    const names = await manager.streams.names().next();
    const streamPrefixes = { EVENTS: 'evt', AUDIT: 'aud' };
    for (const [stream, kind] of Object.entries(streamPrefixes)) {
      const { state } = await manager.streams.info(stream, { subjects_filter: '>' });
      expect(state.subjects).toEqual(
        Object.fromEntries(components.map((each) => [`${kind}.${each}.matrix`, 1])),
      );
      const consumers = await manager.consumers.list(stream).next();
      expect(consumers.map(({ name }) => `${stream}.${name}`).toSorted()).toEqual(
        consumerNames.filter((name) => name.startsWith(stream)),
      );
    }
    await provision.close();

    expect(names.toSorted()).toEqual(['AUDIT', 'EVENTS', filesStream]);
  });

  test('a request is answered once, and a second reply is not delivered', async () => {
    const subscription = connectionOf('auth').subscribe('rpc.auth.v1.ping.*', {
      callback: (_, message) => {
        message.respond('first');
        connectionOf('auth').publish(message.reply ?? '', 'second');
      },
    });
    await connectionOf('auth').flush();
    const replies: string[] = [];
    const inbox = connectionOf('gateway').subscribe('_INBOX_gateway.replies', {
      callback: (_, message) => void replies.push(message.string()),
    });
    connectionOf('gateway').publish('rpc.auth.v1.ping', '', { reply: '_INBOX_gateway.replies' });
    await expect.poll(() => replies).toContain('first');
    await connectionOf('auth').flush();
    await connectionOf('gateway').flush();
    subscription.unsubscribe();
    inbox.unsubscribe();

    expect(replies).toEqual(['first']);
  });

  test('no client connects without a user name or with a wrong password', async () => {
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
