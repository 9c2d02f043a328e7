import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { usersOf } from '#bus';
import { busContracts } from '#contracts/all';
import { subjectOf } from '#contracts/define';
import type { Contract } from '#contracts/define';
import {
  eventSubjectOf,
  eventTypes,
  ownerOf,
  plainPublications,
  recordSubjectOf,
} from '#contracts/events';
import type { EventType } from '#contracts/events';
import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { openStage } from './attack.testing.ts';
import type { Stage } from './attack.testing.ts';

const everyEndpoint = Object.values(busContracts).flatMap((contract: Contract) =>
  Object.keys(contract.endpoints).map((name) => subjectOf(contract, name)),
);
const everyEvent = (Object.keys(eventTypes) as EventType[]).flatMap((type) => [
  eventSubjectOf(ownerOf(type), type),
  recordSubjectOf(ownerOf(type), type),
]);
const storeCalls = [
  ...['EVENTS', 'AUDIT'].flatMap((stream) => [
    `STREAM.PURGE.${stream}`,
    `STREAM.DELETE.${stream}`,
    `STREAM.UPDATE.${stream}`,
  ]),
  'STREAM.CREATE.SPY',
  'CONSUMER.CREATE.EVENTS.spy',
  'CONSUMER.DELETE.AUDIT.audit',
  'CONSUMER.DELETE.EVENTS.notifier',
  'STREAM.PURGE.OBJ_files',
].flatMap((call) => [`$JS.API.${call}`, `STORE.API.${call}`]);

/**
 * Every subject that an attacker could set as a reply subject, so that the responder publishes to
 * it.
 */
const everyReplySubject = [
  ...everyEndpoint.flatMap((endpoint) => [endpoint, `${endpoint}.c_gateway`]),
  ...everyEvent,
  ...components.flatMap((component) => [`_INBOX_${component}.x`, `aud.${component}.x`]),
  ...storeCalls,
  'feed.v1',
  'beat.gateway.v1',
  'gone.gateway.v1',
  '$JS.ACK.AUDIT.audit.1.1.1.1.1',
  '$JS.ACK.EVENTS.notifier.1.1.1.1.1',
  '_R_.guessed',
];

const questionBody = '{"asked":true}';
const storedBody = '{"stored":true}';

/**
 * Returns every subject to which a component's NATS users may publish. `x` replaces `*` and `>`.
 */
const subjectsOf = (component: Component) =>
  usersOf(component).flatMap(({ name, publishSubjects: publish }) =>
    publish.map((subject) => ({ user: name, subject: subject.replace(/[*>]$/, 'x') })),
  );

describe('the answers to messages of a component', { timeout: 300_000 }, () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  test.for(components.map((component) => [component]))(
    'go only to subjects to which the component may publish anyway, whatever reply subject it sets: %s',
    async ([component = 'gateway']) => {
      const subjects = subjectsOf(component);
      const ownSubjects = new Set(subjects.map(({ subject }) => subject));
      // The test tries only reply subjects to which the component itself may not publish.
      const foreignReplySubjects = everyReplySubject.filter((reply) => !ownSubjects.has(reply));
      await stage.as('executor').request('$O.files.C.x', storedBody, { timeout: 30_000 });
      const eventsBefore = await eventsBySubject(stage);
      const overheardMessages = recordForeignMessages(stage, component);
      await stage.settle();
      stage.requests.length = 0;

      for (const [at, { user, subject }] of subjects.entries()) {
        const nats =
          user === component ? stage.as(component) : stage.readerOf(component as 'audit');
        const body = bodyFor(subject);
        for (const reply of foreignReplySubjects) nats.publish(subject, body, { reply });
        if (at % 10 === 9) await stage.settle();
      }
      await stage.settle();

      // Every request arrived, except requests with a reply subject that the server accepts from no
      // client.
      const rpcSubjectCount = subjects.filter(({ subject }) => subject.startsWith('rpc.')).length;
      const acceptedReplies = foreignReplySubjects.filter(
        (reply) => !/^(\$JS\.ACK|_R_)\./.test(reply),
      ).length;
      const { questions = [], answers = [] } = Object.groupBy(stage.requests, ({ body, reply }) =>
        body === questionBody && isHandled(reply) ? 'questions' : 'answers',
      );
      expect(questions.length).toBe(rpcSubjectCount * acceptedReplies);
      // Answers reached only the attacking component itself, which ignores them.
      expect(answers.filter((answer) => answer.component !== component)).toEqual([]);
      expect(answers.filter(({ reply }) => isHandled(reply))).toEqual([]);
      expect(overheardMessages).toEqual([]);
      const publishableSubjects = new Set(
        [...ownSubjects].filter((subject) => /^(evt|aud)\./.test(subject)),
      );
      const eventsAfter = await eventsBySubject(stage);
      for (const subject of publishableSubjects) delete eventsAfter[subject];
      for (const subject of publishableSubjects) delete eventsBefore[subject];
      expect(eventsAfter).toEqual(eventsBefore);
      const consumersOf = async (stream: string) =>
        (await stage.streamManager.consumers.list(stream).next())
          .map(({ name }) => name)
          .toSorted();
      expect(await consumersOf('AUDIT')).toEqual(['audit']);
      expect(await consumersOf('EVENTS')).toEqual(['notifier', 'policy']);
    },
  );
});

/**
 * `serve` handles only requests with the reply subject of a service import, `_R_.…`
 * (services-src/bus/server.ts).
 */
const isHandled = (reply: string | undefined) => reply?.startsWith('_R_.') === true;

/**
 * The body to send to a subject: a valid body for JetStream's endpoints, and `questionBody` for
 * every other subject. The test recognises its own requests by `questionBody`.
 */
function bodyFor(subject: string): string {
  if (subject.includes('CONSUMER.MSG.NEXT')) return JSON.stringify({ batch: 1, no_wait: true });
  if (/(STREAM|CONSUMER)\.INFO/.test(subject)) return '';
  if (subject.includes('DIRECT.GET')) return JSON.stringify({ last_by_subj: '$O.files.C.x' });
  return questionBody;
}

async function eventsBySubject({ streamManager: store }: Stage): Promise<Record<string, number>> {
  const events = await store.streams.info('EVENTS', { subjects_filter: '>' });
  const records = await store.streams.info('AUDIT', { subjects_filter: '>' });
  return { ...events.state.subjects, ...records.state.subjects };
}

/**
 * Records messages that the other components receive on their plain subscriptions, but that the
 * attacking component is not allowed to publish.
 */
function recordForeignMessages(stage: Stage, thief: Component): string[] {
  const heardMessages: string[] = [];
  const plainSubjects: Partial<Record<Component, readonly string[]>> = plainPublications;
  for (const component of components.filter((each) => each !== thief)) {
    for (const subject of usersOf(component)[0]?.subscribeSubjects ?? []) {
      if (subject.startsWith('rpc.') || subject.startsWith(`evt.${thief}.`)) continue;
      if (subject.startsWith('_INBOX_') || plainSubjects[thief]?.includes(subject) === true)
        continue;
      stage.as(component).subscribe(subject, {
        callback: (_, message) => void heardMessages.push(`${component} ${message.subject}`),
      });
    }
  }
  return heardMessages;
}
