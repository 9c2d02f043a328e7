import { createHash } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { Call } from '#contracts/call';
import type { Gap, Permit } from '#contracts/permit';
import type { AppError } from '#errors';
import { createLogger } from '#telemetry';
import { actionOf } from './domain/action.testing.ts';
import { sweepDispatches } from './usecases/sweep-dispatches.ts';
import { actions, canary, context, createWorld, options, soon } from './world.testing.ts';
import type { World } from './world.testing.ts';

let world: World;

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => world.upstream.reset());

const create = () =>
  world.actionCall('create', { title: 'Hello, wide world', password: canary(), room: 'C07' });

async function preview(call: Call, parts: Partial<Gap> & Parameters<World['gapOf']>[1] = {}) {
  const approvalId = uuidv7();
  const gap = world.gapOf(call, { jti: approvalId, ...parts });
  const found = await world.approvals.preview({ gap, call, options, approvalId }, soon());
  if (found.kind !== 'preview') throw new Error('seen');
  return { ...found, approvalId, gap };
}

/** The permit of a replay says of the call what its gap said. */
function replayPermit(
  call: Call,
  { gap, approvalId }: { gap: string; approvalId: string },
  parts: Partial<Permit> = {},
): string {
  const facts = JSON.parse(Buffer.from(gap.split('.')[0] ?? '', 'base64url').toString()) as Gap;
  const { target, injections } = facts;
  const executionId = uuidv7();
  return world.permitOf(call, {
    target,
    injections,
    approvalId,
    executionId,
    dispatchId: executionId,
    ...parts,
  });
}

describe('a preview', () => {
  test('shows the redacted request, discloses from the unredacted one, and sends nothing', async () => {
    const call = create();
    const { request, disclosed, description, requestDigest, sealedCall } = await preview(call);

    expect(request).toEqual({
      method: 'POST',
      url: `${world.upstream.baseUrl}/things`,
      params: { title: 'Hello, wide world', password: '[REDACTED]', room: 'C07' },
      headers: {},
      content_type: 'application/json',
      credentials: [],
      body: { title: 'Hello, wide world', password: '[REDACTED]', room: 'C07' },
      redacted: ['/body/password', '/params/password'],
    });
    expect(disclosed).toMatchObject([
      { label: 'Title', value: 'Hello, w', truncated: true },
      { label: 'Password', value: '43', truncated: false },
      { label: 'Broken', value: '', error: expect.any(String) },
    ]);
    expect(description).toBe('Create Hello, wide world in C07');
    expect(requestDigest).toMatch(/^[0-9a-f]{64}$/);
    const opened = Buffer.from(sealedCall, 'base64url').toString('latin1');
    expect(`${JSON.stringify(request)}${opened}`).not.toContain('CANARY');
    expect(world.upstream.hits).toHaveLength(0);
  });

  test.for(['/things', '/things;v=1', '/things;a=b;c/', '/;x/things', '/Things'])(
    'of a call by method and path hides what the operation at %s hides',
    async (target) => {
      const secret = canary();
      const body = { title: 'Hello, wide world', password: secret };
      const call = world.rawCall({ service: 'acme', method: 'POST', target, body });
      const { request, disclosed } = await preview(call);

      expect(request).toMatchObject({ body: { ...body, password: '[REDACTED]' } });
      expect(JSON.stringify(request)).not.toContain(secret);
      expect(disclosed[0]).toMatchObject({ label: 'Title', value: 'Hello, w' });
    },
  );

  test('looks names up with the service’s credential where reads are allowed, once', async () => {
    const value = canary();
    const secret = await world.gateway.createSecret(
      {
        principal: world.admin,
        body: { name: 'lookup', value, allowed_hosts: [world.upstream.host] },
      },
      soon(),
    );
    const secrets = [{ id: secret.id, name: 'lookup' }];
    world.upstream.answer((hit, reply) => {
      reply.setHeader('content-type', 'application/json');
      reply.end(JSON.stringify({ room: { name: `general ${hit.headers.authorization}` } }));
    });

    const first = await preview(create(), { secrets, lookUpsAllowed: true });
    const second = await preview(create(), { secrets, lookUpsAllowed: true });

    expect(first.description).toBe('Create Hello, wide world in general Bearer [REDACTED] (C07)');
    expect(second.description).toBe(first.description);
    expect(world.upstream.hits.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ['/rooms/C07', `Bearer ${value}`],
    ]);
  });

  test('cuts a long name without leaving a part of a credential in it', async () => {
    const value = canary();
    const body = { name: 'long_lookup', value, allowed_hosts: [world.upstream.host] };
    const secret = await world.gateway.createSecret({ principal: world.admin, body }, soon());
    world.upstream.answer((hit, reply) => {
      const name = `${'x'.repeat(80)} ${hit.headers.authorization}`;
      reply.setHeader('content-type', 'application/json').end(JSON.stringify({ room: { name } }));
    });
    const secrets = [{ id: secret.id, name: 'long_lookup' }];

    const { description } = await preview(create(), { secrets, lookUpsAllowed: true });
    expect(description).toContain('x'.repeat(80));
    expect(description).not.toContain(value.slice(0, 8));
  });

  test('shows the raw id when the name cannot be had', async () => {
    world.upstream.answer((_hit, reply) => reply.writeHead(500).end('{"room":{"name":"no"}}'));

    expect((await preview(create(), { lookUpsAllowed: true })).description).toContain('in C07');
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('of a request over 100 KiB is an outline that hides nothing but the rest of long values', async () => {
    const title = 'x'.repeat(110_000);
    const password = canary();
    const { request } = await preview(world.actionCall('create', { title, password, room: 'C07' }));

    const { params, body, shortened, too_large: isTooLarge } = request;
    expect(isTooLarge).toBe(true);
    const beginning = expect.stringMatching(/^x{1000,}…$/);
    for (const shown of [params, body]) {
      expect(shown).toEqual({ title: beginning, password: '[REDACTED]', room: 'C07' });
    }
    const sha256 = createHash('sha256').update(title).digest('hex');
    expect(shortened).toEqual(
      ['/params/title', '/body/title'].map((at) => ({ at, bytes: 110_000, sha256 })),
    );
    expect(Buffer.byteLength(JSON.stringify(request))).toBeLessThanOrEqual(100 * 1024);
  });

  test('is made only for the call of a genuine gap', async () => {
    const [call, other] = [create(), create()];
    const approvalId = uuidv7();
    const ask = (gap: string) =>
      world.approvals.preview({ gap, call, options, approvalId }, soon());

    await expect(ask(world.gapOf(other))).rejects.toMatchObject({ code: 'unauthenticated' });
    await expect(ask(world.permitOf(call))).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  test('is made under the id of the gap, so that no two calls are shown as one approval', async () => {
    const [call, other] = [create(), create()];
    const { approvalId } = await preview(call);
    for (const idempotencyKey of [null, uuidv7()]) {
      const gap = world.gapOf(other, { idempotencyKey });
      await expect(
        world.approvals.preview({ gap, call: other, options, approvalId }, soon()),
      ).rejects.toMatchObject({ code: 'unauthenticated' });
    }
  });

  test('of a dry run shows the same request', async () => {
    const call = create();
    const { request } = await preview(call);

    for (const kind of ['gap', 'permit'] as const) {
      const gapOrPermit = kind === 'gap' ? world.gapOf(call) : world.permitOf(call);
      const dryRun = { gapOrPermit, kind, call, isAskedAbout: true };
      expect(await world.policy.showRequest(dryRun, soon())).toEqual({ request });
    }
  });

  test('of a text that cannot be shown is refused, in a dry run too, unless nobody is asked', async () => {
    const body = `title=Hello&password=${canary()}`;
    const call = world.rawCall({ service: 'acme', method: 'POST', target: '/things', body });
    const asked = await preview(call).catch((error: unknown) => error as AppError);
    const dryRun = (isAskedAbout: boolean) =>
      world.policy.showRequest(
        { gapOrPermit: world.gapOf(call), kind: 'gap', call, isAskedAbout },
        soon(),
      );

    expect(asked).toMatchObject({ code: 'invalid_params' });
    await expect(dryRun(true)).rejects.toMatchObject({ message: (asked as AppError).message });
    // One that a rule denies or allows is answered so, and shown to nobody.
    expect((await dryRun(false)).request).toMatchObject({
      body: '[REDACTED]',
      redacted: ['/body'],
    });
  });

  test('of a dry run to an address that is refused says so, unless the call is denied', async () => {
    const call = world.rawCall({ target: 'http://169.254.169.254/latest' });
    const parts = { hosts: ['169.254.169.254'], keys: ['http:GET:169.254.169.254/latest'] };
    const dryRun = (kind: 'gap' | 'permit', isAskedAbout: boolean) => {
      const gapOrPermit = kind === 'gap' ? world.gapOf(call, parts) : world.permitOf(call, parts);
      return world.policy.showRequest({ gapOrPermit, kind, call, isAskedAbout }, soon());
    };
    const refused = { code: 'upstream_refused_address' };

    await expect(dryRun('gap', true)).rejects.toMatchObject(refused);
    await expect(dryRun('permit', false)).rejects.toMatchObject(refused);
    const { request } = await dryRun('gap', false);
    expect(request).toMatchObject({ url: 'http://169.254.169.254/latest' });
  });

  test('of a dry run finds what is wrong with the filter', async () => {
    const call = { ...create(), filter: '.a[' };
    const gapOrPermit = world.permitOf(call);
    const request = { gapOrPermit, kind: 'permit' as const, call, isAskedAbout: false };

    await expect(world.policy.showRequest(request, soon())).rejects.toMatchObject({
      code: 'filter_invalid',
    });
  });
});

describe('an approved call', () => {
  async function replay(
    call: Call,
    frozen: Awaited<ReturnType<typeof preview>>,
    changed: { permit?: Partial<Permit>; sealedCall?: string } = {},
  ) {
    const { sealedCall, requestDigest } = { ...frozen, ...changed };
    const permit = replayPermit(call, frozen, { requestDigest, ...changed.permit });
    return world.approvals.executeFrozen({ permit, sealedCall, context }, soon());
  }

  test('is sent as it was approved, with the credential of the moment, and audited with what was disclosed', async () => {
    const old = canary();
    const secret = await world.gateway.createSecret(
      {
        principal: world.admin,
        body: { name: 'rotated', value: old, allowed_hosts: [world.upstream.host] },
      },
      soon(),
    );
    const call = create();
    const frozen = await preview(call, { secrets: [{ id: secret.id, name: 'rotated' }] });
    const value = canary();
    await world.gateway.createSecret(
      { principal: world.admin, body: { name: 'rotated', value } },
      soon(),
    );
    const done = await replay(call, frozen);

    expect(done).toMatchObject({ kind: 'called', replayed: false });
    expect(world.upstream.hits).toHaveLength(1);
    expect(world.upstream.hits[0]?.headers.authorization).toBe(`Bearer ${value}`);
    expect(world.upstream.hits[0]?.body).toBe(
      JSON.stringify(call.kind === 'action' && call.params),
    );
    const outcome = (await world.outbox('action.outcome')).at(-1);
    expect(outcome?.audit).toMatchObject({
      approval_id: frozen.approvalId,
      execution_id: expect.any(String),
      disclosed: [{ label: 'Title' }, { label: 'Password' }, { label: 'Broken' }],
    });
  });

  test('is sent by the digest of its seal where the decision was made on another', async () => {
    const call = create();
    const frozen = await preview(call);

    expect(await replay(call, frozen, { permit: { requestDigest: null } })).toMatchObject({
      kind: 'called',
    });
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('is sent once, however many replay it', async () => {
    const call = create();
    const frozen = await preview(call);
    const permit = replayPermit(call, frozen);
    const { sealedCall } = frozen;
    await Promise.allSettled(
      Array.from({ length: 20 }, () =>
        world.approvals.executeFrozen({ permit, sealedCall, context }, soon()),
      ),
    );

    expect(world.upstream.hits).toHaveLength(1);
  });

  describe('that reads', () => {
    const read = () => world.actionCall('get', { id: uuidv7() });

    test('is sent once, however many replay it, and is answered from the record from then on', async () => {
      const call = read();
      const frozen = await preview(call);
      const permit = { dispatchId: uuidv7() };
      const together = await Promise.allSettled(
        Array.from({ length: 20 }, () => replay(call, frozen, { permit })),
      );
      const again = await replay(call, frozen, { permit });

      expect(world.upstream.hits).toHaveLength(1);
      expect(again).toMatchObject({ kind: 'called', replayed: true, result: { status_code: 200 } });
      const firsts = together.filter(
        (each) =>
          each.status === 'fulfilled' && each.value.kind === 'called' && !each.value.replayed,
      );
      expect(firsts).toHaveLength(1);
    });

    test('is sent again when the executor that had it is gone, and once', async () => {
      const call = read();
      const frozen = await preview(call);
      const permit = { dispatchId: uuidv7() };
      await replay(call, frozen, { permit });
      // As its executor left it when it died before the answer, while the sweep looks for such rows.
      await world.sql`
        update executor.dispatch
           set outcome = null, finished_at = null, lease_until = now() - interval '40 seconds'
         where dispatch_id = ${permit.dispatchId}
      `;
      await sweepDispatches({
        db: world.sql,
        logger: createLogger({ component: 'test', level: 'silent' }),
      });
      const done = await Promise.allSettled(
        Array.from({ length: 5 }, () => replay(call, frozen, { permit })),
      );

      expect(world.upstream.hits).toHaveLength(2);
      expect(done.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0);
    });

    test('ends with the failure that it had, and is not tried again', async () => {
      const call = read();
      const frozen = await preview(call);
      const permit = { dispatchId: uuidv7() };
      world.upstream.answer((_hit, reply) => reply.socket?.destroy());
      const failed = await replay(call, frozen, { permit }).catch(({ code }) => code as string);
      const hits = world.upstream.hits.length;
      world.upstream.reset();

      await expect(replay(call, frozen, { permit })).rejects.toMatchObject({ code: failed });
      expect(failed).toMatch(/^upstream_/);
      expect(hits).toBeGreaterThan(0);
      expect(world.upstream.hits).toHaveLength(0);
    });
  });

  test.for<
    [
      what: string,
      changed: (frozen: Awaited<ReturnType<typeof preview>>) => Parameters<typeof replay>[2],
    ]
  >([
    ['another credential', () => ({ permit: { injections: [injection()] } })],
    ['another service', () => ({ permit: { target: targetWith({ serviceId: uuidv7() }) } })],
    [
      'another base URL',
      () => ({ permit: { target: targetWith({ baseUrl: 'http://127.0.0.1:9' }) } }),
    ],
    ['another template version', () => ({ permit: { target: targetWith({ version: 2 }) } })],
    ['another approval', () => ({ permit: { approvalId: uuidv7() } })],
    ['another org', () => ({ permit: { orgId: uuidv7() } })],
    ['another digest in the decision', () => ({ permit: { requestDigest: 'a'.repeat(64) } })],
    ['a changed seal', ({ sealedCall }) => ({ sealedCall: `${sealedCall.slice(0, -4)}AAAA` })],
  ])('is stale with %s, and nothing is sent', async ([, changed]) => {
    const call = create();
    const frozen = await preview(call);

    await expect(replay(call, frozen, changed(frozen))).rejects.toMatchObject({
      code: 'approval_stale',
    });
    expect(world.upstream.hits).toHaveLength(0);
  });

  test('is stale when its template would build other bytes', async () => {
    const call = create();
    const frozen = await preview(call);
    await using other = await createWorldWith(
      actions.map((action) =>
        action.key === 'create' ? actionOf({ ...action, path: '/others' }) : action,
      ),
    );
    expect(other).toBeDefined();

    await expect(replay(call, frozen)).rejects.toMatchObject({ code: 'approval_stale' });
    expect(world.upstream.hits).toHaveLength(0);
  });

  test('is not run by a permit for another call, nor by one that is no replay', async () => {
    const call = create();
    const frozen = await preview(call);

    await expect(replay(create(), frozen)).rejects.toMatchObject({ code: 'unauthenticated' });
    await expect(replay(call, frozen, { permit: { approvalId: null } })).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await expect(
      world.gateway.execute({ permit: replayPermit(call, frozen), call, options, context }, soon()),
    ).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(world.upstream.hits).toHaveLength(0);
  });
});

function injection(): Permit['injections'][number] {
  return {
    kind: 'secret',
    credentialId: uuidv7(),
    credentialName: 'x',
    in: 'header',
    key: 'a',
    prefix: '',
    encoding: 'raw',
  };
}

function targetWith({
  version = 1,
  ...parts
}: {
  version?: number;
  serviceId?: string;
  baseUrl?: string;
}): Permit['target'] {
  const call = world.actionCall('create', {});
  const gap = world.gapOf(call);
  const { target } = JSON.parse(
    Buffer.from(gap.split('.')[0] ?? '', 'base64url').toString(),
  ) as Permit;
  if (target.kind !== 'action') throw new Error('not an action');
  return { ...target, ...parts, template: { ...target.template, version } };
}

/** Swaps what the registry answers, as a registry would that lost its mind: versions never change. */
async function createWorldWith(changed: typeof actions): Promise<AsyncDisposable> {
  const before = world.template.current;
  const { nats } = await world.environment.connect('registry');
  const swap = async (template: typeof before) => {
    world.template.current = template;
    nats.publish('evt.registry.registry.changed', '{}');
    await nats.flush();
  };
  await swap({
    ...before,
    actions: Object.fromEntries(changed.map((action) => [action.key, action])),
  });
  return { [Symbol.asyncDispose]: () => swap(before) };
}
