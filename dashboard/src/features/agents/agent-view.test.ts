import { describe, expect, test } from 'vitest';

import {
  countOver,
  dayOf,
  endOfDay,
  findNode,
  groupByPerson,
  mayManage,
  standingOf,
  toAgentName,
  withoutOver,
} from './agent-view.ts';
import { createIdentity } from './fixtures.testing.ts';

const nowMs = Date.parse('2026-06-01T00:00:00Z');
const ann = createIdentity('ann');
const bot = createIdentity('ann/bot');
const helper = createIdentity('ann/bot/helper');
const past = '2026-05-31T00:00:00Z';

describe('the state of an agent', () => {
  test.for([
    ['active', {}, 'active'],
    ['archived', { status: 'archived' }, 'paused'],
    ['past its end', { expires_at: past }, 'expired'],
    ['revoked after its end', { status: 'revoked', expires_at: past }, 'revoked'],
  ] as const)('is read from its own record when it is %s', ([, more, state]) => {
    expect(standingOf({ ...bot, ...more }, [ann], nowMs)).toEqual({ state, because: null });
  });

  test('is the state of the nearest stopped identity above the agent', () => {
    const stoppedBot = { ...bot, status: 'archived' } as const;
    expect(standingOf(helper, [stoppedBot, ann], nowMs)).toEqual({
      state: 'paused',
      because: 'bot',
    });
  });

  test('is the agent’s own state if the agent and an identity above it are paused', () => {
    const paused = { status: 'archived' } as const;
    const standing = standingOf({ ...helper, ...paused }, [{ ...bot, ...paused }, ann], nowMs);
    expect(standing).toEqual({ state: 'paused', because: null });
  });
});

describe('who may change an agent', () => {
  test.for([
    ['its person', { id: 'ann', role: 'member' }, true],
    ['another member', { id: 'bob', role: 'member' }, false],
    ['an admin', { id: 'bob', role: 'admin' }, true],
    ['an auditor', { id: 'bob', role: 'auditor' }, false],
    ['its person who is an auditor', { id: 'ann', role: 'auditor' }, false],
  ] as const)('%s: $2', ([, person, expected]) => {
    expect(mayManage(person, bot)).toBe(expected);
  });
});

describe('the trees of agents', () => {
  const identities = [
    createIdentity('bob'),
    ann,
    createIdentity('bob/research'),
    createIdentity('ann/old', { status: 'revoked' }),
    createIdentity('ann/mail', { status: 'archived' }),
    bot,
    helper,
  ];
  const people = groupByPerson(identities, ann, nowMs);

  test('begin with the person’s own agents, and list active agents first', () => {
    expect(people.map(({ ownerName }) => ownerName)).toEqual(['ann', 'bob']);
    expect(people[0]?.agents.map(({ identity }) => identity.name)).toEqual(['bot', 'mail', 'old']);
    expect(people[0]?.agents[0]?.children[0]?.identity.name).toBe('helper');
  });

  test('name people by display name and handle', () => {
    const [person] = groupByPerson([{ ...ann, display_name: 'Ann Berg' }, bot], ann, nowMs);
    expect(person?.ownerName).toBe('Ann Berg (ann)');
  });

  test('can leave out revoked and expired agents', () => {
    const agents = people[0]?.agents ?? [];
    expect(countOver(agents)).toBe(1);
    expect(withoutOver(agents).map(({ identity }) => identity.name)).toEqual(['bot', 'mail']);
  });

  test('contain agents at every depth, which can be found by id', () => {
    expect(findNode(people[0]?.agents ?? [], 'helper')?.identity).toBe(helper);
    expect(findNode(people[0]?.agents ?? [], 'nobody')).toBeUndefined();
  });
});

describe('the conversion of entered text', () => {
  test.for([
    ['Deploy Bot', 'deploy-bot'],
    ['2nd agent!', 'nd-agent-'],
    ['ok_name-1', 'ok_name-1'],
    ['…', ''],
  ])('turns "%s" into the name "%s"', ([text, name]) => {
    expect(toAgentName(text ?? '')).toBe(name);
  });

  test('turns a date into the last second of that day, and back', () => {
    expect(dayOf(endOfDay('2026-12-31'))).toBe('2026-12-31');
    expect(endOfDay('')).toBeNull();
    expect(dayOf(null)).toBe('');
  });
});
