import type { ConsumerInfo } from '@nats-io/jetstream';
import { headers as createHeaders } from '@nats-io/transport-node';
import type { Msg } from '@nats-io/transport-node';

import type { Component } from '#contracts/vocabulary';
import type { Stage } from './attack.testing.ts';

export interface Attack {
  readonly name: string;
  /** The component whose credentials were stolen. */
  readonly thief: Component;
  /** True if the attack uses the credentials with which the component reads the stream. */
  readonly isReader?: true;
  /**
   * True if the server must refuse the attack's messages. Otherwise the server accepts them, and
   * they must have no effect.
   */
  readonly isRefused?: true;
  /**
   * Tells whether the attack can succeed on this version of nats-server. Absent if it can succeed
   * on every version.
   */
  readonly worksOn?: (version: string) => boolean;
  /** Carries out the attack, and returns a function that tells whether the attack succeeded. */
  run(stage: Stage): Promise<() => Promise<boolean> | boolean>;
}

const plantRulesSubject = 'rpc.policy.v1.plantRules';
const forgedMessage = JSON.stringify({ forged: true });
const oneMessage = JSON.stringify({ batch: 1, no_wait: true });

/**
 * Returns a function that tells whether the endpoint's component has received, since this call, a
 * request that the thief has no right to send.
 */
function watchEndpoint({ requests }: Stage, endpoint: string): () => boolean {
  const countBefore = requests.length;
  return () =>
    requests
      .slice(countBefore)
      .some(
        ({ component, subject }) =>
          component === endpoint.split('.')[1] && !/\.(ping|describeSecrets)\b/.test(subject),
      );
}

/** Stores bytes chosen by a third party, as the executor does with an upstream's answer. */
async function storeFile(stage: Stage, body: string): Promise<string> {
  const name = Math.random().toString(36).slice(2);
  const storedReply = await stage
    .as('executor')
    .request(`$O.files.C.${name}`, body, { timeout: 5_000 });
  return JSON.stringify({ seq: storedReply.json<{ seq: number }>().seq });
}

/** Makes the object store send a stored file's bytes to a subject of the thief's choice. */
async function bounceFile(stage: Stage, body: string, reply: string): Promise<void> {
  const query = await storeFile(stage, body);
  stage.as('gateway').publish(`${stage.apiPrefix}.DIRECT.GET.OBJ_files`, query, { reply });
}

/**
 * The two subjects of a JetStream API call: the standard subject, and the one that components use.
 */
const apiSubjectsOf = (call: string) => [`$JS.API.${call}`, `STORE.API.${call}`];

const countEvents = async ({ streamManager: store }: Stage) =>
  (await store.streams.info('EVENTS')).state.messages;
const countRecords = async ({ streamManager: store }: Stage) =>
  (await store.streams.info('AUDIT')).state.messages;
/** Returns the durable consumer `audit` of the stream AUDIT, or a consumer of the stream EVENTS. */
const findConsumer = (
  { streamManager: store }: Stage,
  name: string,
): Promise<ConsumerInfo | undefined> =>
  store.consumers.info(name === 'audit' ? 'AUDIT' : 'EVENTS', name).catch(() => undefined);
const storeEvent = (stage: Stage, subject: string, body: string) =>
  stage.as(subject.split('.')[1] as Component).request(subject, body, { timeout: 5_000 });

/**
 * For each reader: a subject that its durable consumer delivers, and that consumer as
 * `stream.consumer`.
 */
const deliveries = {
  audit: { subject: 'aud.audit.x', next: 'AUDIT.audit' },
  notifier: { subject: 'evt.notifier.x', next: 'EVENTS.notifier' },
  policy: { subject: 'evt.approvals.approval.remembered', next: 'EVENTS.policy' },
} as const;

/**
 * The thief stores an event. Then it asks its own durable consumer for the event and gives the
 * endpoint as the reply subject, so that JetStream sends the event to the endpoint.
 */
const attackByDelivery = (thief: 'audit' | 'notifier' | 'policy', endpoint: string): Attack => ({
  name: `an event that the ${thief} component wrote, delivered to ${endpoint}`,
  thief,
  isReader: true,
  async run(stage) {
    const hasSucceeded = watchEndpoint(stage, endpoint);
    const { subject, next } = deliveries[thief];
    await storeEvent(stage, subject, forgedMessage);
    stage
      .readerOf(thief)
      .publish(
        `${stage.apiPrefix}.CONSUMER.MSG.NEXT.${next}`,
        JSON.stringify({ batch: 100, no_wait: true }),
        { reply: endpoint },
      );
    return hasSucceeded;
  },
});

/**
 * The thief sends a request whose reply subject is a JetStream API call, so that the answer of the
 * responding component makes that call.
 */
const attacksByReply = (call: string, hasSucceeded: (stage: Stage) => Promise<boolean>): Attack[] =>
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
      await storeEvent(stage, 'aud.auth.x', '{}');
      for (const reply of apiSubjectsOf(call)) stage.as(thief).publish(endpoint, '{}', { reply });
      return () => hasSucceeded(stage);
    },
  }));

export const attacks: Attack[] = [
  {
    name: 'a request to an endpoint that the thief may not call',
    thief: 'notifier',
    isRefused: true,
    async run(stage) {
      const hasSucceeded = watchEndpoint(stage, plantRulesSubject);
      stage.as('notifier').publish(plantRulesSubject, forgedMessage);
      return hasSucceeded;
    },
  },
  {
    name: 'the answer of one endpoint sent to another endpoint as a request',
    thief: 'gateway',
    async run(stage) {
      const hasSucceeded = watchEndpoint(stage, plantRulesSubject);
      stage.as('gateway').publish('rpc.policy.v1.ping', '{}', { reply: plantRulesSubject });
      return hasSucceeded;
    },
  },
  attackByDelivery('notifier', plantRulesSubject),
  attackByDelivery('audit', plantRulesSubject),
  attackByDelivery('notifier', 'rpc.approvals.v1.resolve'),
  attackByDelivery('policy', 'rpc.executor.v1.execute'),
  {
    name: "an upstream's answer, sent from the object store to an endpoint",
    thief: 'gateway',
    async run(stage) {
      const hasSucceeded = watchEndpoint(stage, plantRulesSubject);
      await bounceFile(stage, forgedMessage, plantRulesSubject);
      return hasSucceeded;
    },
  },
  {
    name: "the stream's acknowledgement sent to an endpoint",
    thief: 'registry',
    async run(stage) {
      const hasSucceeded = watchEndpoint(stage, plantRulesSubject);
      stage.as('registry').publish('evt.registry.x', '{}', { reply: plantRulesSubject });
      return hasSucceeded;
    },
  },
  {
    name: "an upstream's answer, stored as an event of another component",
    thief: 'gateway',
    async run(stage) {
      const subject = 'evt.approvals.approval.remembered';
      const eventCountBefore = await countEvents(stage);
      await bounceFile(stage, forgedMessage, subject);
      return async () => (await countEvents(stage)) > eventCountBefore;
    },
  },
  {
    name: 'an acknowledgement of events that the audit log has not read yet',
    thief: 'gateway',
    isRefused: true,
    async run(stage) {
      await storeEvent(stage, 'aud.auth.x', '{}');
      const next = `${stage.apiPrefix}.CONSUMER.MSG.NEXT.AUDIT.audit`;
      const inboxSubject = '_INBOX_audit_reader.take';
      const delivered = new Promise<Msg>((resolve) => {
        stage.readerOf('audit').subscribe(inboxSubject, { max: 1, callback: (_, m) => resolve(m) });
      });
      stage.readerOf('audit').publish(next, oneMessage, { reply: inboxSubject });
      const acknowledgement = (await delivered).reply ?? '';
      const countUnacknowledged = async () =>
        (await findConsumer(stage, 'audit'))?.num_ack_pending ?? 0;
      await bounceFile(stage, '+ACK', acknowledgement);
      stage.as('gateway').publish(acknowledgement, '+ACK');
      return async () => (await countUnacknowledged()) === 0;
    },
  },
  {
    name: 'creating a consumer of all events',
    thief: 'gateway',
    isRefused: true,
    async run(stage) {
      const config = { name: 'spy', ack_policy: 'none', filter_subject: 'evt.>' };
      for (const createSubject of apiSubjectsOf('CONSUMER.CREATE.EVENTS.spy.evt.>')) {
        stage
          .as('gateway')
          .publish(createSubject, JSON.stringify({ stream_name: 'EVENTS', config }));
      }
      return async () => (await findConsumer(stage, 'spy')) !== undefined;
    },
  },
  {
    name: 'a consumer created from stored bytes, which delivers all events to the thief',
    thief: 'gateway',
    async run(stage) {
      const heardMessages: string[] = [];
      stage.as('gateway').subscribe('_INBOX_gateway.spy', {
        callback: (_, m) => void heardMessages.push(m.subject),
      });
      const config = { name: 'spy', ack_policy: 'none', deliver_subject: '_INBOX_gateway.spy' };
      for (const createSubject of apiSubjectsOf('CONSUMER.CREATE.EVENTS.spy')) {
        await bounceFile(stage, JSON.stringify({ stream_name: 'EVENTS', config }), createSubject);
      }
      await stage.settle();
      await storeEvent(stage, 'evt.auth.x', '{}');
      return async () =>
        heardMessages.length > 0 || (await findConsumer(stage, 'spy')) !== undefined;
    },
  },
  {
    name: 'a consumer created from stored bytes, which delivers events to an endpoint',
    thief: 'gateway',
    async run(stage) {
      const deliverySettings = { deliver_subject: plantRulesSubject, deliver_group: 'policy' };
      const config = { name: 'spy', ack_policy: 'none', ...deliverySettings };
      for (const createSubject of apiSubjectsOf('CONSUMER.CREATE.EVENTS.spy')) {
        await bounceFile(stage, JSON.stringify({ stream_name: 'EVENTS', config }), createSubject);
      }
      return async () => (await findConsumer(stage, 'spy')) !== undefined;
    },
  },
  {
    name: 'a stored file, read by a component that uses no files',
    thief: 'notifier',
    isRefused: true,
    async run(stage) {
      const heardMessages: string[] = [];
      stage.as('notifier').subscribe('_INBOX_notifier.spy', {
        callback: (_, m) => void heardMessages.push(m.string()),
      });
      const query = await storeFile(stage, forgedMessage);
      for (const getSubject of apiSubjectsOf('DIRECT.GET.OBJ_files')) {
        stage.as('notifier').publish(getSubject, query, { reply: '_INBOX_notifier.spy' });
      }
      return () => heardMessages.includes(forgedMessage);
    },
  },
  {
    name: 'a subscription to other components’ answers and requests',
    thief: 'notifier',
    isRefused: true,
    async run(stage) {
      const heardMessages: string[] = [];
      const callback = (failure: unknown, message: Msg) => {
        if (!failure) heardMessages.push(message.subject);
      };
      for (const subject of ['_INBOX_gateway.>', '_R_.>', 'rpc.policy.>', '$JS.>']) {
        stage.as('notifier').subscribe(subject, { callback });
      }
      await stage.settle();
      await stage.as('gateway').request('rpc.policy.v1.ping', '{}', { timeout: 5_000 });
      return () => heardMessages.length > 0;
    },
  },
  ...attacksByReply(
    'CONSUMER.DELETE.AUDIT.audit',
    async (stage) => (await findConsumer(stage, 'audit')) === undefined,
  ),
  ...attacksByReply('STREAM.PURGE.EVENTS', async (stage) => (await countEvents(stage)) === 0),
  ...attacksByReply('STREAM.PURGE.AUDIT', async (stage) => (await countRecords(stage)) === 0),
  ...attacksByReply('STREAM.DELETE.AUDIT', (stage) =>
    countRecords(stage).then(
      () => false,
      () => true,
    ),
  ),
  ...attacksByReply('STREAM.DELETE.EVENTS', (stage) =>
    countEvents(stage).then(
      () => false,
      () => true,
    ),
  ),
  {
    name: "the stream's acknowledgement, sent as a request to purge a stream, because it contains a sequence number",
    thief: 'gateway',
    worksOn: (version) => version.startsWith('2.10.'),
    async run(stage) {
      for (let count = 0; count < 5; count += 1) await storeEvent(stage, 'aud.auth.x', '{}');
      const recordCountBefore = await countRecords(stage);
      for (const reply of apiSubjectsOf('STREAM.PURGE.AUDIT')) {
        stage.as('gateway').publish('aud.gateway.x', '{}', { reply });
      }
      return async () => (await countRecords(stage)) < recordCountBefore;
    },
  },
  {
    name: 'the trace of a message, sent to an endpoint',
    thief: 'gateway',
    worksOn: (version) => !version.startsWith('2.10.'),
    async run(stage) {
      const hasSucceeded = watchEndpoint(stage, plantRulesSubject);
      const headers = createHeaders();
      headers.set('Nats-Trace-Dest', plantRulesSubject);
      stage.as('gateway').publish('rpc.policy.v1.ping', '{}', { headers });
      return hasSucceeded;
    },
  },
  {
    name: 'an acknowledgement by a component that only receives the event',
    thief: 'policy',
    isRefused: true,
    async run(stage) {
      const heardMessages: string[] = [];
      stage.as('policy').subscribe('evt.auth.>', {
        callback: (_, message) =>
          stage.as('policy').publish(message.reply ?? 'none', forgedMessage),
      });
      stage
        .as('auth')
        .subscribe('_INBOX_auth.told', { callback: (_, m) => void heardMessages.push(m.string()) });
      await stage.settle();
      stage.as('auth').publish('evt.auth.x', '{}', { reply: '_INBOX_auth.told' });
      return () => heardMessages.includes(forgedMessage);
    },
  },
];
