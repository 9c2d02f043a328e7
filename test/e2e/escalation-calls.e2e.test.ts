import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { deniedCalls, writeAttempts } from './escalation/calls.ts';
import {
  crookedTargets,
  otherTopics,
  overridingCalls,
  spelledNames,
  strangeNames,
  strangeTools,
} from './escalation/refused.ts';
import { setScene, write } from './escalation/scene.ts';
import type { Scene } from './escalation/scene.ts';
import { spelledCalls } from './escalation/spellings.ts';
import { callToolByMcp, waysOf } from './escalation/ways.ts';
import type { Way } from './escalation/ways.ts';
import { successfulBodyOf, pollUntil } from '../support/world.ts';
import type { Agent } from '../support/world.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await setScene();
});
afterAll(() => scene[Symbol.asyncDispose]());

const countHits = () => scene.world.upstream.hits.length;
const waysOfAgent = (agent: Agent) => waysOf(scene.world.url, agent);
const restWayOf = (agent: Agent) => waysOfAgent(agent).slice(0, 1) as [Way];

/**
 * Each case spells a forbidden call in another way: its host, path, service, action, argument or
 * tool.
 */
describe('calls that must not reach the upstream', () => {
  let hitsBefore: number;
  beforeEach(() => {
    hitsBefore = countHits();
  });

  describe('a call that a deny rule covers', () => {
    let reckless: Agent;
    let careful: Agent;
    beforeAll(async () => {
      const { agent } = scene;
      const denials = ['deny notes:*:*', 'deny books:*:*'];
      reckless = await agent('reckless', 'allow *:*:*', ...denials);
      careful = await agent('careful', 'allow *:*:*', 'deny notes:write_note:secret');
    });

    test.for(writeAttempts.map((attempt) => [attempt.what, attempt] as const))(
      'is denied when made by %s',
      async ([, { call }]) => {
        const attemptedCall = call(scene.world.upstream);
        for (const agent of [reckless, careful]) {
          for (const way of 'action' in attemptedCall ? waysOfAgent(agent) : restWayOf(agent)) {
            expect((await way.call(attemptedCall)).outcome, way.by).toBe('denied');
          }
        }
        expect(countHits()).toBe(hitsBefore);
      },
    );

    test.for(spelledNames.map((url) => [url] as const))(
      'is denied when made by raw HTTP to the host spelled %s',
      async ([url]) => {
        const answer = await restWayOf(reckless)[0].call({ service: 'http', method: 'POST', url });
        expect(answer.outcome, JSON.stringify(answer.body)).toBe('denied');
      },
    );
  });

  const everyDenied = [...deniedCalls, ...spelledCalls];
  test.for(everyDenied.map((deniedCall) => [deniedCall.what, deniedCall] as const))(
    'a call that a deny rule covers is denied in the spelling: %s',
    async ([, { deny, call, allowedCall }]) => {
      const { agent, addRule: rule, world } = scene;
      const port = world.upstream.host.split(':')[1] ?? '';
      const limitedAgent = await agent(
        `limited-${everyDenied.findIndex((each) => each.call === call)}`,
      );
      await rule(limitedAgent, 'allow *:*:*');
      const wantedCall = call(world.upstream);
      expect((await restWayOf(limitedAgent)[0].call(wantedCall)).outcome).toBe('called');
      expect(countHits()).toBe(hitsBefore + 1);

      await rule(limitedAgent, `deny ${deny.replace('PORT', port)}`);
      for (const way of 'action' in wantedCall
        ? waysOfAgent(limitedAgent)
        : restWayOf(limitedAgent)) {
        expect((await way.call(wantedCall)).outcome, way.by).toBe('denied');
      }
      expect(countHits()).toBe(hitsBefore + 1);
      if (allowedCall === undefined) return;
      expect((await restWayOf(limitedAgent)[0].call(allowedCall(world.upstream))).outcome).toBe(
        'called',
      );
      expect(countHits()).toBe(hitsBefore + 2);
    },
  );

  describe('an agent that is allowed everything', () => {
    let unrestrictedAgent: Agent;
    beforeAll(async () => {
      unrestrictedAgent = await scene.agent('free', 'allow *:*:*');
    });

    test.for(crookedTargets.map((url) => [url] as const))(
      'cannot call the URL %s',
      async ([target]) => {
        const url = targetAt(target, scene.world.upstream.host);
        const { outcome: answer } = await restWayOf(unrestrictedAgent)[0].call({
          service: 'http',
          method: 'POST',
          url,
        });
        expect(answer).toBe('invalid_params');
        expect(countHits()).toBe(hitsBefore);
      },
    );

    test.for(overridingCalls)(
      'cannot make a call that would send another request than its permission key names: %s',
      async ([, call]) => {
        for (const way of 'action' in call
          ? waysOfAgent(unrestrictedAgent)
          : restWayOf(unrestrictedAgent)) {
          expect((await way.call(call)).outcome, way.by).toBe('invalid_params');
        }
        expect(countHits()).toBe(hitsBefore);
      },
    );

    test('cannot call the host by another spelling of its address', async () => {
      const port = scene.world.upstream.host.split(':')[1];
      for (const host of ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::1]', '0.0.0.0']) {
        const url = `http://${host}:${port}/notes/x`;
        const { outcome: answer } = await restWayOf(unrestrictedAgent)[0].call({
          service: 'http',
          method: 'POST',
          url,
        });
        expect(answer, host).toBe('upstream_refused_address');
      }
      expect(countHits()).toBe(hitsBefore);
    });

    test.for(strangeNames)(
      'cannot call the service %j, the action %j',
      async ([service, action]) => {
        for (const way of waysOfAgent(unrestrictedAgent)) {
          const { outcome: answer } = await way.call({ service, action, params: { topic: 'x' } });
          expect(answer, way.by).toMatch(
            /^(unknown_(service|action)|invalid_(params|request)|-32602)$/,
          );
        }
        expect(countHits()).toBe(hitsBefore);
      },
    );

    test.for(strangeTools.map((tool) => [tool] as const))(
      'cannot call the tool %j',
      async ([tool]) => {
        const { outcome: answer } = await callToolByMcp(
          scene.world.url,
          unrestrictedAgent.key,
          tool,
          write('x'),
        );
        expect(answer).toMatch(/^(-3260[12]|invalid_request|not_found)$/);
        expect(countHits()).toBe(hitsBefore);
      },
    );
  });

  describe('an agent that may write certain topics only', () => {
    let narrowAgent: Agent;
    beforeAll(async () => {
      narrowAgent = await scene.agent(
        'narrow',
        'allow notes:write_note:public',
        'allow notes:write_note:caf\u00e9',
      );
    });

    test.for(otherTopics.map((topic) => [topic] as const))(
      'needs an approval for the topic %j, unless the topic is invalid',
      async ([topic]) => {
        for (const way of waysOfAgent(narrowAgent)) {
          const { outcome: answer } = await way.call(write(topic));
          expect(answer, way.by).toMatch(/^(pending_approval|invalid_params)$/);
        }
        expect(countHits()).toBe(hitsBefore);
      },
    );
  });
});

/**
 * Makes the calls of the first test without a deny rule. They are sent, which shows that only the
 * deny rule stopped them.
 */
test.for(writeAttempts.map((attempt) => [attempt.what, attempt] as const))(
  'a call made by %s is sent if no rule denies it',
  async ([, { call }]) => {
    const hitsBefore = countHits();
    const agent = await scene.agent(`control-${hitsBefore}`, 'allow *:*:*');
    const wantedCall = call(scene.world.upstream);
    const { permission_keys: keys } = successfulBodyOf(
      await agent.post('/v1/actions/validate', wantedCall),
    );
    expect((await restWayOf(agent)[0].call(wantedCall)).outcome).toBe('called');
    expect(countHits()).toBe(hitsBefore + 1);

    // Rules are compared with the permission key. So the key must equal the arrived request,
    // character by character.
    if ('action' in wantedCall) return;
    const { method, headers, url } = scene.world.upstream.hits.at(-1)!;
    expect(keys[0]).toBe(`http:${method}:${headers.host}${url.split('?')[0]}`);
  },
);

test('a remembered permission for an argument that looks like a wildcard covers only that argument', async () => {
  const { agent, world } = scene;
  const [{ call }] = restWayOf(await agent('asking'));
  for (const [topic, path] of [
    ['*', '/notes/%2A'],
    ['**', '/notes/%2A%2A'],
    ['%2A', '/notes/%252A'],
  ] as const) {
    const hitsBefore = countHits();
    const id = (await call(write(topic))).body.approval_id;
    successfulBodyOf(
      await world.admin.post(`/v1/approvals/${id}/resolve`, {
        resolution: 'allow_remember',
        ttl: '1h',
      }),
    );
    await pollUntil(() => countHits() > hitsBefore, 'the replay');
    expect(world.upstream.hits.at(-1)?.url).toBe(path);
    expect((await call(write(topic))).outcome).toBe('called');
    expect((await call(write('any'))).outcome).toBe('pending_approval');
  }
});

/**
 * Replaces HOST by the host name and the port. Dots after HOST are put between the name and the
 * port.
 */
function targetAt(target: string, host: string): string {
  const [name = '', port = ''] = host.split(':');
  return target.replace(/HOST(\.*)/, `${name}$1:${port}`);
}
