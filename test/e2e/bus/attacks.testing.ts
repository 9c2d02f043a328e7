import type { ConsumerInfo } from '@nats-io/jetstream';
import { headers as createHeaders } from '@nats-io/transport-node';
import type { Msg } from '@nats-io/transport-node';

import type { Component } from '#contracts/vocabulary';
import type { Stage } from './attack.testing.ts';

export interface Attack {
  readonly name: string;
  /** The credentials that were stolen. */
  readonly thief: Component;
  /** Whether the thief logs in as the reader of the stream. */
  readonly isReader?: true;
  /** Whether the server refuses the attempt; else it lets it through, and it must come to nothing. */
  readonly isRefused?: true;
  /** Versions of nats-server on which it works at all, where that is not all of them. */
  readonly worksOn?: (version: string) => boolean;
  /** Makes the attempt and answers how to see whether it succeeded. */
  run(stage: Stage): Promise<() => Promise<boolean> | boolean>;
}

const plantRules = 'rpc.policy.v1.plantRules';
const forged = JSON.stringify({ forged: true });
const oneMessage = JSON.stringify({ batch: 1, no_wait: true });

/** Whether from now on the endpoint's owner hears anything but what the thief may ask it. */
function reached({ requests }: Stage, endpoint: string): () => boolean {
  const from = requests.length;
  return () =>
    requests
      .slice(from)
      .some(
        ({ component, subject }) =>
          component === endpoint.split('.')[1] && !/\.(ping|describeSecrets)\b/.test(subject),
      );
}

/** Stores bytes that a third party chose, as the executor does with an upstream's answer. */
async function storeFile(stage: Stage, body: string): Promise<string> {
  const name = Math.random().toString(36).slice(2);
  const stored = await stage.as('executor').request(`$O.files.C.${name}`, body, { timeout: 5_000 });
  return JSON.stringify({ seq: stored.json<{ seq: number }>().seq });
}

/** Has the store send a stored file's bytes to a subject of the thief's choice. */
async function bounceFile(stage: Stage, body: string, reply: string): Promise<void> {
  const query = await storeFile(stage, body);
  stage.as('gateway').publish(`${stage.api}.DIRECT.GET.OBJ_files`, query, { reply });
}

/** JetStream's API by its own name and by the one that components use. */
const apiCalls = (call: string) => [`$JS.API.${call}`, `STORE.API.${call}`];

const countEvents = async ({ store }: Stage) => (await store.streams.info('EVENTS')).state.messages;
const consumer = ({ store }: Stage, name: string): Promise<ConsumerInfo | undefined> =>
  store.consumers.info('EVENTS', name).catch(() => undefined);
const storeEvent = (stage: Stage, subject: string, body: string) =>
  stage.as(subject.split('.')[1] as Component).request(subject, body, { timeout: 5_000 });

/** An event that the thief stored itself comes to the thief's durable consumer, and is sent on. */
const deliverTo = (thief: 'audit' | 'notifier' | 'policy', endpoint: string): Attack => ({
  name: `an event that the ${thief} component wrote, delivered to ${endpoint}`,
  thief,
  isReader: true,
  async run(stage) {
    const succeeded = reached(stage, endpoint);
    const subject = thief === 'policy' ? 'evt.approvals.approval.remembered' : `evt.${thief}.x`;
    await storeEvent(stage, subject, forged);
    const next = `${stage.api}.CONSUMER.MSG.NEXT.EVENTS.${thief}`;
    stage
      .readerOf(thief)
      .publish(next, JSON.stringify({ batch: 100, no_wait: true }), { reply: endpoint });
    return succeeded;
  },
});

/** The responder's answer goes where the thief says. */
const answerTo = (call: string, succeeded: (stage: Stage) => Promise<boolean>): Attack[] =>
  (
    [
      ['gateway', 'rpc.policy.v1.ping'],
      ['registry', 'rpc.executor.v1.describeSecrets'],
    ] as const
  ).map(([thief, endpoint]) => ({
    name: `the answer of ${endpoint} sent to ${call}`,
    thief,
    async run(stage) {
      await storeEvent(stage, 'evt.auth.x', '{}');
      for (const reply of apiCalls(call)) stage.as(thief).publish(endpoint, '{}', { reply });
      return () => succeeded(stage);
    },
  }));

export const attacks: Attack[] = [
  {
    name: 'a request to an endpoint that is not for the component',
    thief: 'notifier',
    isRefused: true,
    async run(stage) {
      const succeeded = reached(stage, plantRules);
      stage.as('notifier').publish(plantRules, forged);
      return succeeded;
    },
  },
  {
    name: 'the answer of one endpoint sent to another as a request',
    thief: 'gateway',
    async run(stage) {
      const succeeded = reached(stage, plantRules);
      stage.as('gateway').publish('rpc.policy.v1.ping', '{}', { reply: plantRules });
      return succeeded;
    },
  },
  deliverTo('notifier', plantRules),
  deliverTo('audit', plantRules),
  deliverTo('notifier', 'rpc.approvals.v1.resolve'),
  deliverTo('policy', 'rpc.executor.v1.execute'),
  {
    name: "an upstream's answer, read from the store into an endpoint",
    thief: 'gateway',
    async run(stage) {
      const succeeded = reached(stage, plantRules);
      await bounceFile(stage, forged, plantRules);
      return succeeded;
    },
  },
  {
    name: "the stream's acknowledgement sent to an endpoint",
    thief: 'registry',
    async run(stage) {
      const succeeded = reached(stage, plantRules);
      stage.as('registry').publish('evt.registry.x', '{}', { reply: plantRules });
      return succeeded;
    },
  },
  {
    name: "an upstream's answer, stored as an event of another component",
    thief: 'gateway',
    async run(stage) {
      const subject = 'evt.approvals.approval.remembered';
      const before = await countEvents(stage);
      await bounceFile(stage, forged, subject);
      return async () => (await countEvents(stage)) > before;
    },
  },
  {
    name: 'what the audit log has not read yet, acknowledged in its place',
    thief: 'gateway',
    isRefused: true,
    async run(stage) {
      await storeEvent(stage, 'evt.auth.x', '{}');
      const next = `${stage.api}.CONSUMER.MSG.NEXT.EVENTS.audit`;
      const inbox = '_INBOX_audit_reader.take';
      const delivered = new Promise<Msg>((resolve) => {
        stage.readerOf('audit').subscribe(inbox, { max: 1, callback: (_, m) => resolve(m) });
      });
      stage.readerOf('audit').publish(next, oneMessage, { reply: inbox });
      const acknowledgement = (await delivered).reply ?? '';
      const unread = async () => (await consumer(stage, 'audit'))?.num_ack_pending ?? 0;
      await bounceFile(stage, '+ACK', acknowledgement);
      stage.as('gateway').publish(acknowledgement, '+ACK');
      return async () => (await unread()) === 0;
    },
  },
  {
    name: 'a consumer of all events',
    thief: 'gateway',
    isRefused: true,
    async run(stage) {
      const config = { name: 'spy', ack_policy: 'none', filter_subject: 'evt.>' };
      for (const create of apiCalls('CONSUMER.CREATE.EVENTS.spy.evt.>')) {
        stage.as('gateway').publish(create, JSON.stringify({ stream_name: 'EVENTS', config }));
      }
      return async () => (await consumer(stage, 'spy')) !== undefined;
    },
  },
  {
    name: 'a consumer made of bytes from the store, which delivers all events to the thief',
    thief: 'gateway',
    async run(stage) {
      const heard: string[] = [];
      stage
        .as('gateway')
        .subscribe('_INBOX_gateway.spy', { callback: (_, m) => void heard.push(m.subject) });
      const config = { name: 'spy', ack_policy: 'none', deliver_subject: '_INBOX_gateway.spy' };
      for (const create of apiCalls('CONSUMER.CREATE.EVENTS.spy')) {
        await bounceFile(stage, JSON.stringify({ stream_name: 'EVENTS', config }), create);
      }
      await stage.settle();
      await storeEvent(stage, 'evt.auth.x', '{}');
      return async () => heard.length > 0 || (await consumer(stage, 'spy')) !== undefined;
    },
  },
  {
    name: 'a consumer made of bytes from the store, which delivers events to an endpoint',
    thief: 'gateway',
    async run(stage) {
      const delivery = { deliver_subject: plantRules, deliver_group: 'policy' };
      const config = { name: 'spy', ack_policy: 'none', ...delivery };
      for (const create of apiCalls('CONSUMER.CREATE.EVENTS.spy')) {
        await bounceFile(stage, JSON.stringify({ stream_name: 'EVENTS', config }), create);
      }
      return async () => (await consumer(stage, 'spy')) !== undefined;
    },
  },
  {
    name: 'a stored file, read by a component that has nothing to do with files',
    thief: 'notifier',
    isRefused: true,
    async run(stage) {
      const heard: string[] = [];
      stage
        .as('notifier')
        .subscribe('_INBOX_notifier.spy', { callback: (_, m) => void heard.push(m.string()) });
      const query = await storeFile(stage, forged);
      for (const get of apiCalls('DIRECT.GET.OBJ_files')) {
        stage.as('notifier').publish(get, query, { reply: '_INBOX_notifier.spy' });
      }
      return () => heard.includes(forged);
    },
  },
  {
    name: 'the answers and requests of others, heard',
    thief: 'notifier',
    isRefused: true,
    async run(stage) {
      const heard: string[] = [];
      const callback = (failure: unknown, message: Msg) => {
        if (!failure) heard.push(message.subject);
      };
      for (const subject of ['_INBOX_gateway.>', '_R_.>', 'rpc.policy.>', '$JS.>']) {
        stage.as('notifier').subscribe(subject, { callback });
      }
      await stage.settle();
      await stage.as('gateway').request('rpc.policy.v1.ping', '{}', { timeout: 5_000 });
      return () => heard.length > 0;
    },
  },
  ...answerTo(
    'CONSUMER.DELETE.EVENTS.audit',
    async (stage) => (await consumer(stage, 'audit')) === undefined,
  ),
  ...answerTo('STREAM.PURGE.EVENTS', async (stage) => (await countEvents(stage)) === 0),
  ...answerTo('STREAM.DELETE.EVENTS', (stage) =>
    countEvents(stage).then(
      () => false,
      () => true,
    ),
  ),
  {
    name: "the stream's acknowledgement, which holds a sequence, sent to what purges up to one",
    thief: 'gateway',
    worksOn: (version) => version.startsWith('2.10.'),
    async run(stage) {
      for (let count = 0; count < 5; count += 1) await storeEvent(stage, 'evt.auth.x', '{}');
      const before = await countEvents(stage);
      for (const reply of apiCalls('STREAM.PURGE.EVENTS')) {
        stage.as('gateway').publish('aud.gateway.x', '{}', { reply });
      }
      return async () => (await countEvents(stage)) < before;
    },
  },
  {
    name: 'the trace of a message, sent to an endpoint',
    thief: 'gateway',
    worksOn: (version) => !version.startsWith('2.10.'),
    async run(stage) {
      const succeeded = reached(stage, plantRules);
      const headers = createHeaders();
      headers.set('Nats-Trace-Dest', plantRules);
      stage.as('gateway').publish('rpc.policy.v1.ping', '{}', { headers });
      return succeeded;
    },
  },
  {
    name: 'the acknowledgement of an event, given by one who only hears the event',
    thief: 'policy',
    async run(stage) {
      const heard: string[] = [];
      stage.as('policy').subscribe('evt.auth.>', {
        callback: (_, message) => stage.as('policy').publish(message.reply ?? 'none', forged),
      });
      stage
        .as('auth')
        .subscribe('_INBOX_auth.told', { callback: (_, m) => void heard.push(m.string()) });
      await stage.settle();
      stage.as('auth').publish('evt.auth.x', '{}', { reply: '_INBOX_auth.told' });
      return () => heard.includes(forged);
    },
  },
];
