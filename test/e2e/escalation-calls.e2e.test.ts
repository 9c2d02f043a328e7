import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { deniedCalls, waysIn } from './escalation/calls.ts';
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
import { useTool, waysOf } from './escalation/ways.ts';
import type { Way } from './escalation/ways.ts';
import { created, until } from './support/world.ts';
import type { Agent } from './support/world.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await setScene();
});
afterAll(() => scene[Symbol.asyncDispose]());

const sent = () => scene.world.upstream.hits.length;
const ways = (agent: Agent) => waysOf(scene.world.url, agent);
const rest = (agent: Agent) => ways(agent).slice(0, 1) as [Way];

/** Spellings of a call: of its host, path, service, action, argument and tool. */
describe('nothing is sent for', () => {
  let before: number;
  beforeEach(() => {
    before = sent();
  });

  describe('what is denied,', () => {
    let reckless: Agent;
    let careful: Agent;
    beforeAll(async () => {
      const { agent } = scene;
      const denials = ['deny notes:*:*', 'deny books:*:*'];
      reckless = await agent('reckless', 'allow *:*:*', ...denials);
      careful = await agent('careful', 'allow *:*:*', 'deny notes:write_note:secret');
    });

    test.for(waysIn.map((attempt) => [attempt.what, attempt] as const))(
      'by %s',
      async ([, { call }]) => {
        const wanted = call(scene.world.upstream);
        for (const agent of [reckless, careful]) {
          for (const way of 'action' in wanted ? ways(agent) : rest(agent)) {
            expect((await way.call(wanted)).told, way.by).toBe('denied');
          }
        }
        expect(sent()).toBe(before);
      },
    );

    test.for(spelledNames.map((url) => [url] as const))('by the name %s', async ([url]) => {
      const answer = await rest(reckless)[0].call({ service: 'http', method: 'POST', url });
      expect(answer.told, JSON.stringify(answer.body)).toBe('denied');
    });
  });

  const everyDenied = [...deniedCalls, ...spelledCalls];
  test.for(everyDenied.map((denied) => [denied.what, denied] as const))(
    'a rule that denies it, by %s',
    async ([, { deny, call, beside }]) => {
      const { agent, rule, world } = scene;
      const port = world.upstream.host.split(':')[1] ?? '';
      const limited = await agent(`limited-${everyDenied.findIndex((each) => each.call === call)}`);
      await rule(limited, 'allow *:*:*');
      const wanted = call(world.upstream);
      expect((await rest(limited)[0].call(wanted)).told).toBe('called');
      expect(sent()).toBe(before + 1);

      await rule(limited, `deny ${deny.replace('PORT', port)}`);
      for (const way of 'action' in wanted ? ways(limited) : rest(limited)) {
        expect((await way.call(wanted)).told, way.by).toBe('denied');
      }
      expect(sent()).toBe(before + 1);
      if (beside === undefined) return;
      expect((await rest(limited)[0].call(beside(world.upstream))).told).toBe('called');
      expect(sent()).toBe(before + 2);
    },
  );

  describe('an agent to which everything is allowed, by', () => {
    let free: Agent;
    beforeAll(async () => {
      free = await scene.agent('free', 'allow *:*:*');
    });

    test.for(crookedTargets.map((url) => [url] as const))('the target %s', async ([target]) => {
      const url = targetAt(target, scene.world.upstream.host);
      const { told: answer } = await rest(free)[0].call({ service: 'http', method: 'POST', url });
      expect(answer).toBe('invalid_params');
      expect(sent()).toBe(before);
    });

    test.for(overridingCalls)('%s', async ([, call]) => {
      for (const way of 'action' in call ? ways(free) : rest(free)) {
        expect((await way.call(call)).told, way.by).toBe('invalid_params');
      }
      expect(sent()).toBe(before);
    });

    test('the host as another address of it', async () => {
      const port = scene.world.upstream.host.split(':')[1];
      for (const host of ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::1]', '0.0.0.0']) {
        const url = `http://${host}:${port}/notes/x`;
        const { told: answer } = await rest(free)[0].call({ service: 'http', method: 'POST', url });
        expect(answer, host).toBe('upstream_refused_address');
      }
      expect(sent()).toBe(before);
    });

    test.for(strangeNames)('the service %j, the action %j', async ([service, action]) => {
      for (const way of ways(free)) {
        const { told: answer } = await way.call({ service, action, params: { topic: 'x' } });
        expect(answer, way.by).toMatch(
          /^(unknown_(service|action)|invalid_(params|request)|-32602)$/,
        );
      }
      expect(sent()).toBe(before);
    });

    test.for(strangeTools.map((tool) => [tool] as const))('the tool %j', async ([tool]) => {
      const { told: answer } = await useTool(scene.world.url, free.key, tool, write('x'));
      expect(answer).toMatch(/^(-3260[12]|invalid_request|not_found)$/);
      expect(sent()).toBe(before);
    });
  });

  describe('an agent that may write one topic, and asks for', () => {
    let narrow: Agent;
    beforeAll(async () => {
      narrow = await scene.agent(
        'narrow',
        'allow notes:write_note:public',
        'allow notes:write_note:caf\u00e9',
      );
    });

    test.for(otherTopics.map((topic) => [topic] as const))('%j', async ([topic]) => {
      for (const way of ways(narrow)) {
        const { told: answer } = await way.call(write(topic));
        expect(answer, way.by).toMatch(/^(pending_approval|invalid_params)$/);
      }
      expect(sent()).toBe(before);
    });
  });
});

/** The same ways, where nothing denies them: the tests above refuse what would have worked. */
test.for(waysIn.map((attempt) => [attempt.what, attempt] as const))(
  'what is denied above is sent where it is allowed: by %s',
  async ([, { call }]) => {
    const before = sent();
    const agent = await scene.agent(`control-${before}`, 'allow *:*:*');
    const wanted = call(scene.world.upstream);
    const { permission_keys: keys } = created(await agent.post('/v1/actions/validate', wanted));
    expect((await rest(agent)[0].call(wanted)).told).toBe('called');
    expect(sent()).toBe(before + 1);

    // What a rule is compared with is what arrives, character by character.
    if ('action' in wanted) return;
    const { method, headers, url } = scene.world.upstream.hits.at(-1)!;
    expect(keys[0]).toBe(`http:${method}:${headers.host}${url.split('?')[0]}`);
  },
);

test('a wildcard that somebody allowed as an argument allows that argument alone', async () => {
  const { agent, world } = scene;
  const [{ call }] = rest(await agent('asking'));
  for (const [topic, path] of [
    ['*', '/notes/%2A'],
    ['**', '/notes/%2A%2A'],
    ['%2A', '/notes/%252A'],
  ] as const) {
    const before = sent();
    const id = (await call(write(topic))).body.approval_id;
    created(
      await world.admin.post(`/v1/approvals/${id}/resolve`, {
        resolution: 'allow_remember',
        ttl: '1h',
      }),
    );
    await until(() => sent() > before, 'the replay');
    expect(world.upstream.hits.at(-1)?.url).toBe(path);
    expect((await call(write(topic))).told).toBe('called');
    expect((await call(write('any'))).told).toBe('pending_approval');
  }
});

/** A suffix of the host name comes before its port. */
function targetAt(target: string, host: string): string {
  const [name = '', port = ''] = host.split(':');
  return target.replace(/HOST(\.*)/, `${name}$1:${port}`);
}
