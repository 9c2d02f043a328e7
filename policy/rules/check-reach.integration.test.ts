import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { signPlanting } from '../decisions/planting.testing.ts';
import { actionOf, paramOf, templateOf } from '../action.testing.ts';
import { connectGithub, createPolicyWorld, testDeadline } from '../world.testing.ts';
import type { PolicyWorld, TestIdentity } from '../world.testing.ts';

let world: PolicyWorld;
let admin: TestIdentity;
let ann: TestIdentity;
let bob: TestIdentity;
let bot: TestIdentity;

const pairParams = [
  paramOf('project', 'body', { required: true }),
  paramOf('type', 'body', { required: true }),
];
const createNote = actionOf('create_note', {
  method: 'POST',
  risk: 'write',
  params: pairParams,
  body: { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
  scopeParam: [{ params: ['project'] }, { params: ['type'] }],
});
const listNotes = actionOf('list_notes', {});
const notes = templateOf([createNote, listNotes, actionOf('old_notes', { disabled: true })], {
  key: 'notes',
});
const tools = templateOf([actionOf('read_note')], {
  key: 'tools',
  runtime: 'mcp',
  hosts: ['tools.example'],
});
const templateAt = (key: string) => ({ key, tier: 'global', ownerId: null, version: 1 }) as const;

beforeAll(async () => {
  world = await createPolicyWorld();
  world.neighbours.templates.push(notes, tools);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});
beforeEach(async () => {
  const orgId = newId();
  admin = world.user('root', { orgId, role: 'admin' });
  ann = world.user('ann', { orgId });
  bob = world.user('bob', { orgId });
  bot = world.below(ann, 'bot');
  world.neighbours.services.length = 0;
  connectGithub(world, ann, { name: 'notes', template: templateAt('notes') });
  connectGithub(world, ann, {
    name: 'tools',
    template: templateAt('tools'),
    baseUrl: 'https://tools.example',
    hosts: ['tools.example'],
  });
  await world.settle();
});

const refusalOf = (tells: RegExp, didYouMean?: string) =>
  expect.objectContaining({
    code: 'invalid_params',
    message: expect.stringMatching(tells),
    details: {
      issues: [
        {
          path: 'pattern',
          message: expect.any(String),
          ...(didYouMean === undefined ? {} : { did_you_mean: didYouMean }),
        },
      ],
    },
  });

describe('creating a rule that no call could match is refused:', () => {
  test.for([
    ['deny notes:create_note:SEC', /2 positions, project\/type/, 'notes:create_note:SEC/*'],
    ['deny notes:create_note:SEC/Bug/x', /2 positions/, 'notes:create_note:SEC/Bug'],
    ['allow notes:create_note:OPS', /2 positions/, 'notes:create_note:OPS/*'],
    ['allow notes:list_notes:OPS', /no value, only \*/, 'notes:list_notes:*'],
    ['allow notes:create_notes:*', /does not have/, 'notes:create_note:*'],
    ['deny notes:nothing_like_it:*', /does not have/, undefined],
  ] as const)('%s', async ([text, tells, didYouMean]) => {
    await expect(world.rule(ann, bot, text)).rejects.toEqual(refusalOf(tells, didYouMean));
    expect(await world.db`select id from policy.rule where org_id = ${ann.orgId}`).toEqual([]);
  });

  test('a deny rule with the name of the template, also by an admin on the identity of another user', async () => {
    world.neighbours.services.length = 0;
    connectGithub(world, ann, { name: 'my_notes', template: templateAt('notes') });
    await world.settle();

    await expect(world.rule(admin, bot, 'deny notes:create_note:SEC')).rejects.toEqual(
      refusalOf(/2 positions/, 'notes:create_note:SEC/*'),
    );
    // The keys of the service's calls have its own name, so this allow rule matches nothing yet.
    expect(await world.rule(ann, bot, 'allow notes:create_note:SEC')).toHaveProperty(
      'matches_nothing',
    );
  });
});

describe('creating a rule that calls can match', () => {
  test.for([
    'allow notes:create_note:OPS/Task',
    'allow notes:create_note:*/Task',
    'allow notes:create_note:OPS/**',
    'allow notes:create_note:*',
    'allow notes:*:OPS',
    'allow notes:old_notes:*',
    'allow *:create_notes:OPS',
    'allow http:GET:notes.example/**',
    'allow platform:request_service:notes',
  ])('succeeds for %s', async (text) => {
    expect(await world.rule(ann, bot, text)).not.toHaveProperty('matches_nothing');
  });

  test('lists in its answer only the actions that the rule really stops', async () => {
    const stopsOf = async (text: string) => (await world.rule(ann, bot, text)).stops;

    expect(await stopsOf('deny notes:create_note:SEC/*')).toEqual([
      { service: 'notes', action: 'create_note' },
    ]);
    expect(await stopsOf('deny notes:*:SEC')).toEqual([{ service: 'notes', action: 'list_notes' }]);
    expect(await stopsOf('deny notes:list_notes:SEC')).toEqual([
      { service: 'notes', action: 'list_notes' },
    ]);
  });
});

describe('creating a rule that may match calls later answers with matches_nothing', () => {
  test.for(['allow unknown:create_note:OPS', 'deny unknown:create_note:OPS'])(
    'for an unknown service: %s',
    async (text) => {
      expect(await world.rule(ann, bot, text)).toMatchObject({
        matches_nothing: expect.stringContaining('No connected service is called unknown'),
        ...(text.startsWith('deny') ? { stops: [] } : {}),
      });
    },
  );

  test('for a tool that the MCP server does not offer yet', async () => {
    expect(await world.rule(ann, bot, 'deny tools:delete_note:*')).toMatchObject({
      matches_nothing: expect.any(String),
      stops: [],
    });
  });

  test('for the whole org, without revealing what only other members have', async () => {
    expect(await world.rule(admin, null, 'deny notes:secret_action:*')).toMatchObject({
      matches_nothing: 'The service notes has no call that the rule matches yet.',
    });
    expect(await world.rule(admin, null, 'deny notes:create_note:SEC/*')).toMatchObject({
      stops_of_others: 1,
    });
    expect(await world.rule(bob, bob, 'deny notes:create_note:SEC')).toMatchObject({
      matches_nothing: expect.stringContaining('No connected service'),
    });
  });
});

test('a position that contains a slash is written as in permission keys', async () => {
  const call = {
    kind: 'action',
    service: 'notes',
    action: 'create_note',
    params: { project: 'a/b', type: 'Bug' },
    filter: null,
  } as const;
  await world.rule(ann, bot, 'allow notes:create_note:a%2fb/*');
  expect((await world.decide(bot, call)).outcome).toBe('permit');

  await world.rule(ann, bot, 'deny notes:create_note:a%2Fb/Bug');
  expect((await world.decide(bot, call)).outcome).toBe('denied');
});

test('a rule that a decision creates is never refused', async () => {
  const patterns = [
    { pattern: 'notes:create_note:OPS', exact: true },
    { pattern: 'notes:gone:*', exact: false },
  ];
  const request = signPlanting(world, { on: bot, by: ann, patterns });

  expect((await world.approvals.plantRules(request, testDeadline())).ruleIds).toHaveLength(2);
});
