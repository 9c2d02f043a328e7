import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { usersOf } from '#bus';
import { busContracts } from '#contracts/all';
import { subjectOf } from '#contracts/define';
import type { Contract } from '#contracts/define';
import { eventSubject, eventTypes, ownerOf, plainPublications } from '#contracts/events';
import type { EventType } from '#contracts/events';
import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { openStage } from './attack.testing.ts';
import type { Stage } from './attack.testing.ts';

const everyEndpoint = Object.values(busContracts).flatMap((contract: Contract) =>
  Object.keys(contract.endpoints).map((name) => subjectOf(contract, name)),
);
const everyEvent = (Object.keys(eventTypes) as EventType[]).map((type) =>
  eventSubject(ownerOf(type), type),
);
const storeCalls = [
  'STREAM.PURGE.EVENTS',
  'STREAM.DELETE.EVENTS',
  'STREAM.UPDATE.EVENTS',
  'STREAM.CREATE.SPY',
  'CONSUMER.CREATE.EVENTS.spy',
  'CONSUMER.DELETE.EVENTS.audit',
  'STREAM.PURGE.OBJ_files',
].flatMap((call) => [`$JS.API.${call}`, `STORE.API.${call}`]);

/** Whatever somebody could want an answer to arrive at. */
const everyReply = [
  ...everyEndpoint.flatMap((endpoint) => [endpoint, `${endpoint}.c_gateway`]),
  ...everyEvent,
  ...components.flatMap((component) => [`_INBOX_${component}.x`, `aud.${component}.x`]),
  ...storeCalls,
  'feed.v1',
  'beat.gateway.v1',
  'gone.gateway.v1',
  '$JS.ACK.EVENTS.audit.1.1.1.1.1',
  '_R_.guessed',
];

const question = '{"asked":true}';
const stored = '{"stored":true}';

/** Every subject that a component's users may publish, with `*` and `>` filled in. */
const subjectsOf = (component: Component) =>
  usersOf(component).flatMap(({ name, publish }) =>
    publish.map((subject) => ({ user: name, subject: subject.replace(/[*>]$/, 'x') })),
  );

describe('whatever reply subject a component chooses', { timeout: 300_000 }, () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  test.for(components.map((component) => [component]))(
    'the answer to %s reaches nobody that it could not speak to anyway',
    async ([component = 'gateway']) => {
      const subjects = subjectsOf(component);
      const own = new Set(subjects.map(({ subject }) => subject));
      // What a bounce may come to: requests to those that the component may call, its own events.
      const foreign = everyReply.filter((reply) => !own.has(reply));
      await stage.as('executor').request('$O.files.C.x', stored, { timeout: 5_000 });
      const before = await eventsBySubject(stage);
      const overheard = listen(stage, component);
      await stage.settle();
      stage.requests.length = 0;

      for (const [at, { user, subject }] of subjects.entries()) {
        const nats =
          user === component ? stage.as(component) : stage.readerOf(component as 'audit');
        const body = bodyFor(subject);
        for (const reply of foreign) nats.publish(subject, body, { reply });
        if (at % 10 === 9) await stage.settle();
      }
      await stage.settle();

      // Every question arrived, but those whose reply subject the server takes from nobody.
      const calls = subjects.filter(({ subject }) => subject.startsWith('rpc.')).length;
      const taken = foreign.filter((reply) => !/^(\$JS\.ACK|_R_)\./.test(reply)).length;
      const { questions = [], answers = [] } = Object.groupBy(stage.requests, ({ body, reply }) =>
        body === question && isHandled(reply) ? 'questions' : 'answers',
      );
      expect(questions.length).toBe(calls * taken);
      // What came of the answers reached the thief's own component alone, which does not handle it.
      expect(answers.filter((answer) => answer.component !== component)).toEqual([]);
      expect(answers.filter(({ reply }) => isHandled(reply))).toEqual([]);
      expect(overheard).toEqual([]);
      const published = new Set([...own].filter((subject) => /^(evt|aud)\./.test(subject)));
      const after = await eventsBySubject(stage);
      for (const subject of published) delete after[subject];
      for (const subject of published) delete before[subject];
      expect(after).toEqual(before);
      const consumers = await stage.store.consumers.list('EVENTS').next();
      expect(consumers.map(({ name }) => name).toSorted()).toEqual(['audit', 'notifier', 'policy']);
    },
  );
});

/** Requests that did not pass an import are refused by `serve` (services-src/bus/server.ts). */
const isHandled = (reply: string | undefined) => reply?.startsWith('_R_.') === true;

/** A body that the endpoint of the store takes; any other subject gets one by which it is known again. */
function bodyFor(subject: string): string {
  if (subject.includes('CONSUMER.MSG.NEXT')) return JSON.stringify({ batch: 1, no_wait: true });
  if (subject.includes('CONSUMER.INFO')) return '';
  if (subject.includes('DIRECT.GET')) return JSON.stringify({ last_by_subj: '$O.files.C.x' });
  return question;
}

async function eventsBySubject({ store }: Stage): Promise<Record<string, number>> {
  const { state } = await store.streams.info('EVENTS', { subjects_filter: '>' });
  return { ...state.subjects };
}

/** What others hear on the subjects that they hear plainly, from anybody but their owner. */
function listen(stage: Stage, thief: Component): string[] {
  const heard: string[] = [];
  const plain: Partial<Record<Component, readonly string[]>> = plainPublications;
  for (const component of components.filter((each) => each !== thief)) {
    for (const subject of usersOf(component)[0]?.subscribe ?? []) {
      if (subject.startsWith('rpc.') || subject.startsWith(`evt.${thief}.`)) continue;
      if (subject.startsWith('_INBOX_') || plain[thief]?.includes(subject) === true) continue;
      stage.as(component).subscribe(subject, {
        callback: (_, message) => void heard.push(`${component} ${message.subject}`),
      });
    }
  }
  return heard;
}
