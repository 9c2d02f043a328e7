import { createHash } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { Call } from '#contracts/call';
import type { Gap, Permit } from '#contracts/permit';
import type { AppError } from '#errors';
import { createLogger } from '#telemetry';
import { actionOf } from '../request/domain/action.testing.ts';
import { sweepDispatches } from './sweep-dispatches.ts';
import { actions, canary, context, createWorld, options, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

let world: World;

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => world.upstream.reset());

const createCall = () =>
  world.actionCall('create', { title: 'Hello, wide world', password: canary(), room: 'C07' });

async function preview(call: Call, parts: Partial<Gap> & Parameters<World['gapOf']>[1] = {}) {
  const approvalId = uuidv7();
  const gap = world.gapOf(call, { jti: approvalId, ...parts });
  const preview = await world.approvals.preview({ gap, call, options, approvalId }, testDeadline());
  if (preview.kind !== 'preview') throw new Error('seen');
  return { ...preview, approvalId, gap };
}

/**
 * The permit for replaying an approved call. It repeats the description of the call in the signed
 * permission gap.
 */
function replayPermit(
  call: Call,
  { gap, approvalId }: { gap: string; approvalId: string },
  parts: Partial<Permit> = {},
): string {
  const gapContent = JSON.parse(
    Buffer.from(gap.split('.')[0] ?? '', 'base64url').toString(),
  ) as Gap;
  const { target, injections } = gapContent;
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

describe('the preview of a call', () => {
  test('shows the redacted request, runs the disclose filters over the unredacted one, and sends nothing', async () => {
    const call = createCall();
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
    const openedText = Buffer.from(sealedCall, 'base64url').toString('latin1');
    expect(`${JSON.stringify(request)}${openedText}`).not.toContain('CANARY');
    expect(world.upstream.hits).toHaveLength(0);
  });

  test.for(['/things', '/things;v=1', '/things;a=b;c/', '/;x/things', '/Things'])(
    'of a call by method and path hides the parameters that the operation at %s redacts',
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

  test('resolves each id to a name once, with the service’s credential, and only where policy allows reads', async () => {
    const value = canary();
    const secret = await world.gateway.createSecret(
      {
        principal: world.admin,
        body: { name: 'lookup', value, allowed_hosts: [world.upstream.host] },
      },
      testDeadline(),
    );
    const secrets = [{ id: secret.id, name: 'lookup' }];
    world.upstream.answer((hit, reply) => {
      reply.setHeader('content-type', 'application/json');
      reply.end(JSON.stringify({ room: { name: `general ${hit.headers.authorization}` } }));
    });

    const first = await preview(createCall(), { secrets, lookUpsAllowed: true });
    const second = await preview(createCall(), { secrets, lookUpsAllowed: true });

    expect(first.description).toBe('Create Hello, wide world in general Bearer [REDACTED] (C07)');
    expect(second.description).toBe(first.description);
    expect(world.upstream.hits.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ['/rooms/C07', `Bearer ${value}`],
    ]);
  });

  test('truncates a long resolved name without showing a part of a credential in that name', async () => {
    const value = canary();
    const body = { name: 'long_lookup', value, allowed_hosts: [world.upstream.host] };
    const secret = await world.gateway.createSecret(
      { principal: world.admin, body },
      testDeadline(),
    );
    world.upstream.answer((hit, reply) => {
      const name = `${'x'.repeat(80)} ${hit.headers.authorization}`;
      reply.setHeader('content-type', 'application/json').end(JSON.stringify({ room: { name } }));
    });
    const secrets = [{ id: secret.id, name: 'long_lookup' }];

    const { description } = await preview(createCall(), { secrets, lookUpsAllowed: true });
    expect(description).toContain('x'.repeat(80));
    expect(description).not.toContain(value.slice(0, 8));
  });

  test('shows the id itself when it cannot be resolved to a name', async () => {
    world.upstream.answer((_hit, reply) => reply.writeHead(500).end('{"room":{"name":"no"}}'));

    expect((await preview(createCall(), { lookUpsAllowed: true })).description).toContain('in C07');
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('shows an outline of a request over 100 KiB, in which only long values are cut off at their ends', async () => {
    const title = 'x'.repeat(110_000);
    const password = canary();
    const { request } = await preview(world.actionCall('create', { title, password, room: 'C07' }));

    const { params, body, shortened, too_large: isTooLarge } = request;
    expect(isTooLarge).toBe(true);
    const titleBeginning = expect.stringMatching(/^x{1000,}…$/);
    for (const shown of [params, body]) {
      expect(shown).toEqual({ title: titleBeginning, password: '[REDACTED]', room: 'C07' });
    }
    const sha256 = createHash('sha256').update(title).digest('hex');
    expect(shortened).toEqual(
      ['/params/title', '/body/title'].map((at) => ({ at, bytes: 110_000, sha256 })),
    );
    expect(Buffer.byteLength(JSON.stringify(request))).toBeLessThanOrEqual(100 * 1024);
  });

  test('needs a permission gap that policy signed for this call', async () => {
    const [call, other] = [createCall(), createCall()];
    const approvalId = uuidv7();
    const askForPermit = (gap: string) =>
      world.approvals.preview({ gap, call, options, approvalId }, testDeadline());

    await expect(askForPermit(world.gapOf(other))).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await expect(askForPermit(world.permitOf(call))).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });

  test('must have the id of its permission gap, so that one approval cannot show another call', async () => {
    const [call, other] = [createCall(), createCall()];
    const { approvalId } = await preview(call);
    for (const idempotencyKey of [null, uuidv7()]) {
      const gap = world.gapOf(other, { idempotencyKey });
      await expect(
        world.approvals.preview({ gap, call: other, options, approvalId }, testDeadline()),
      ).rejects.toMatchObject({ code: 'unauthenticated' });
    }
  });

  test('shows the same request as a dry run', async () => {
    const call = createCall();
    const { request } = await preview(call);

    for (const kind of ['gap', 'permit'] as const) {
      const gapOrPermit = kind === 'gap' ? world.gapOf(call) : world.permitOf(call);
      const dryRun = { gapOrPermit, kind, call, isAskedAbout: true };
      expect(await world.policy.showRequest(dryRun, testDeadline())).toEqual({ request });
    }
  });

  test('refuses a text body that cannot be redacted, and so does a dry run of a call that needs approval', async () => {
    const body = `title=Hello&password=${canary()}`;
    const call = world.rawCall({ service: 'acme', method: 'POST', target: '/things', body });
    const previewOutcome = await preview(call).catch((error: unknown) => error as AppError);
    const dryRun = (isAskedAbout: boolean) =>
      world.policy.showRequest(
        { gapOrPermit: world.gapOf(call), kind: 'gap', call, isAskedAbout },
        testDeadline(),
      );

    expect(previewOutcome).toMatchObject({ code: 'invalid_params' });
    await expect(dryRun(true)).rejects.toMatchObject({
      message: (previewOutcome as AppError).message,
    });
    // Without an approval nobody reads the body, so it is hidden instead of refused.
    expect((await dryRun(false)).request).toMatchObject({
      body: '[REDACTED]',
      redacted: ['/body'],
    });
  });

  test('refuses a forbidden address, and so does a dry run of a call that is not denied', async () => {
    const call = world.rawCall({ target: 'http://169.254.169.254/latest' });
    const parts = { hosts: ['169.254.169.254'], keys: ['http:GET:169.254.169.254/latest'] };
    const dryRun = (kind: 'gap' | 'permit', isAskedAbout: boolean) => {
      const gapOrPermit = kind === 'gap' ? world.gapOf(call, parts) : world.permitOf(call, parts);
      return world.policy.showRequest({ gapOrPermit, kind, call, isAskedAbout }, testDeadline());
    };
    const refusal = { code: 'upstream_refused_address' };

    await expect(dryRun('gap', true)).rejects.toMatchObject(refusal);
    await expect(dryRun('permit', false)).rejects.toMatchObject(refusal);
    const { request } = await dryRun('gap', false);
    expect(request).toMatchObject({ url: 'http://169.254.169.254/latest' });
  });

  test('refuses an invalid filter, in a dry run too', async () => {
    const call = { ...createCall(), filter: '.a[' };
    const gapOrPermit = world.permitOf(call);
    const request = { gapOrPermit, kind: 'permit' as const, call, isAskedAbout: false };

    await expect(world.policy.showRequest(request, testDeadline())).rejects.toMatchObject({
      code: 'filter_invalid',
    });
  });
});

describe('an approved call', () => {
  async function replay(
    call: Call,
    frozenPreview: Awaited<ReturnType<typeof preview>>,
    changed: { permit?: Partial<Permit>; sealedCall?: string } = {},
  ) {
    const { sealedCall, requestDigest } = { ...frozenPreview, ...changed };
    const permit = replayPermit(call, frozenPreview, { requestDigest, ...changed.permit });
    return world.approvals.executeFrozen({ permit, sealedCall, context }, testDeadline());
  }

  test('is sent as approved with the current value of its credential, and its audit record contains the disclosed fields', async () => {
    const old = canary();
    const secret = await world.gateway.createSecret(
      {
        principal: world.admin,
        body: { name: 'rotated', value: old, allowed_hosts: [world.upstream.host] },
      },
      testDeadline(),
    );
    const call = createCall();
    const frozenPreview = await preview(call, { secrets: [{ id: secret.id, name: 'rotated' }] });
    const value = canary();
    await world.gateway.createSecret(
      { principal: world.admin, body: { name: 'rotated', value } },
      testDeadline(),
    );
    const done = await replay(call, frozenPreview);

    expect(done).toMatchObject({ kind: 'called', replayed: false });
    expect(world.upstream.hits).toHaveLength(1);
    expect(world.upstream.hits[0]?.headers.authorization).toBe(`Bearer ${value}`);
    expect(world.upstream.hits[0]?.body).toBe(
      JSON.stringify(call.kind === 'action' && call.params),
    );
    const outcome = (await world.outbox('action.outcome')).at(-1);
    expect(outcome?.audit).toMatchObject({
      approval_id: frozenPreview.approvalId,
      execution_id: expect.any(String),
      disclosed: [{ label: 'Title' }, { label: 'Password' }, { label: 'Broken' }],
    });
  });

  test('is compared with the sealed digest when the permit contains none', async () => {
    const call = createCall();
    const frozenPreview = await preview(call);

    expect(await replay(call, frozenPreview, { permit: { requestDigest: null } })).toMatchObject({
      kind: 'called',
    });
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('is sent once, however many replays arrive', async () => {
    const call = createCall();
    const frozenPreview = await preview(call);
    const permit = replayPermit(call, frozenPreview);
    const { sealedCall } = frozenPreview;
    await Promise.allSettled(
      Array.from({ length: 20 }, () =>
        world.approvals.executeFrozen({ permit, sealedCall, context }, testDeadline()),
      ),
    );

    expect(world.upstream.hits).toHaveLength(1);
  });

  test('stays in progress when its outcome cannot be stored, and is answered from its dispatch row later', async () => {
    const call = createCall();
    const frozenPreview = await preview(call);
    const permit = { dispatchId: uuidv7() };
    await world.sql.unsafe(`
      create function executor.refuse() returns trigger language plpgsql as
        $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$;
      create trigger refuse before update on executor.dispatch
        for each row when (new.outcome is not null) execute function executor.refuse()`);
    try {
      await expect(replay(call, frozenPreview, { permit })).rejects.toMatchObject({
        code: 'execution_in_progress',
      });
    } finally {
      await world.sql.unsafe('drop trigger refuse on executor.dispatch');
    }
    // The state of the row when the commit succeeded and only the database's reply was lost.
    const result = { status_code: 201, headers: {}, body: 'stored', duration_ms: 1 };
    await world.sql`
      update executor.dispatch
         set outcome = ${JSON.stringify({ kind: 'called', result })}, finished_at = now()
       where dispatch_id = ${permit.dispatchId}
    `;

    expect(await replay(call, frozenPreview, { permit })).toMatchObject({
      kind: 'called',
      replayed: true,
      result: { body: 'stored' },
    });
    expect(world.upstream.hits).toHaveLength(1);
  });

  describe('an approved read', () => {
    const createReadCall = () => world.actionCall('get', { id: uuidv7() });

    test('is sent once, however many replays arrive, and later replays get the stored outcome', async () => {
      const call = createReadCall();
      const frozenPreview = await preview(call);
      const permit = { dispatchId: uuidv7() };
      const replayOutcomes = await Promise.allSettled(
        Array.from({ length: 20 }, () => replay(call, frozenPreview, { permit })),
      );
      const secondReplay = await replay(call, frozenPreview, { permit });

      expect(world.upstream.hits).toHaveLength(1);
      expect(secondReplay).toMatchObject({
        kind: 'called',
        replayed: true,
        result: { status_code: 200 },
      });
      const firstOutcomes = replayOutcomes.filter(
        (each) =>
          each.status === 'fulfilled' && each.value.kind === 'called' && !each.value.replayed,
      );
      expect(firstOutcomes).toHaveLength(1);
    });

    test('is sent once more when the executor that sent it died', async () => {
      const call = createReadCall();
      const frozenPreview = await preview(call);
      const permit = { dispatchId: uuidv7() };
      await replay(call, frozenPreview, { permit });
      // Restores the dispatch row to the state in which an executor leaves it when it dies before
      // the answer arrives.
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
        Array.from({ length: 5 }, () => replay(call, frozenPreview, { permit })),
      );

      expect(world.upstream.hits).toHaveLength(2);
      expect(done.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0);
    });

    test('is not sent again when it failed, and the failure is its stored outcome', async () => {
      const call = createReadCall();
      const frozenPreview = await preview(call);
      const permit = { dispatchId: uuidv7() };
      world.upstream.answer((_hit, reply) => reply.socket?.destroy());
      const failureCode = await replay(call, frozenPreview, { permit }).catch(
        ({ code }) => code as string,
      );
      const hits = world.upstream.hits.length;
      world.upstream.reset();

      await expect(replay(call, frozenPreview, { permit })).rejects.toMatchObject({
        code: failureCode,
      });
      expect(failureCode).toMatch(/^upstream_/);
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
    ['another credential', () => ({ permit: { injections: [createInjection()] } })],
    ['another service', () => ({ permit: { target: targetWith({ serviceId: uuidv7() }) } })],
    [
      'another base URL',
      () => ({ permit: { target: targetWith({ baseUrl: 'http://127.0.0.1:9' }) } }),
    ],
    ['another template version', () => ({ permit: { target: targetWith({ version: 2 }) } })],
    ['another approval', () => ({ permit: { approvalId: uuidv7() } })],
    ['another org', () => ({ permit: { orgId: uuidv7() } })],
    ['another digest in the decision', () => ({ permit: { requestDigest: 'a'.repeat(64) } })],
    [
      'a changed ciphertext of the call',
      ({ sealedCall }) => ({ sealedCall: `${sealedCall.slice(0, -4)}AAAA` }),
    ],
  ])('is refused as stale, and not sent, if replayed with %s', async ([, changed]) => {
    const call = createCall();
    const frozenPreview = await preview(call);

    await expect(replay(call, frozenPreview, changed(frozenPreview))).rejects.toMatchObject({
      code: 'approval_stale',
    });
    expect(world.upstream.hits).toHaveLength(0);
  });

  test('is refused as stale when its template would build a different request', async () => {
    const call = createCall();
    const frozenPreview = await preview(call);
    await using other = await createWorldWith(
      actions.map((action) =>
        action.key === 'create' ? actionOf({ ...action, path: '/others' }) : action,
      ),
    );
    expect(other).toBeDefined();

    await expect(replay(call, frozenPreview)).rejects.toMatchObject({ code: 'approval_stale' });
    expect(world.upstream.hits).toHaveLength(0);
  });

  test('needs a permit for this call and for a replay', async () => {
    const call = createCall();
    const frozenPreview = await preview(call);

    await expect(replay(createCall(), frozenPreview)).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await expect(
      replay(call, frozenPreview, { permit: { approvalId: null } }),
    ).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await expect(
      world.gateway.execute(
        { permit: replayPermit(call, frozenPreview), call, options, context },
        testDeadline(),
      ),
    ).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(world.upstream.hits).toHaveLength(0);
  });
});

function createInjection(): Permit['injections'][number] {
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

/**
 * A test world whose registry gives another template for a published version. A correct registry
 * never does: versions do not change.
 */
async function createWorldWith(changed: typeof actions): Promise<AsyncDisposable> {
  const before = world.template.current;
  const { nats } = await world.environment.connect('registry');
  const swapTemplate = async (template: typeof before) => {
    world.template.current = template;
    nats.publish('evt.registry.registry.changed', '{}');
    await nats.flush();
  };
  await swapTemplate({
    ...before,
    actions: Object.fromEntries(changed.map((action) => [action.key, action])),
  });
  return { [Symbol.asyncDispose]: () => swapTemplate(before) };
}
