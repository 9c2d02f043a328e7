import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { Call } from '#contracts/call';
import { canary, context, createWorld, options, testDeadline } from '../world.testing.ts';
import type { Answers, World } from '../world.testing.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** The values that the upstream accepts; it refuses all others with 401. */
let acceptedValues: Set<string>;
const answerByCredential: Answers = ({ headers }, reply) => {
  reply.statusCode = acceptedValues.has(headers.authorization?.replace('Bearer ', '') ?? '')
    ? 200
    : 401;
  reply.end('{}');
};
beforeEach(async () => {
  world.upstream.reset();
  acceptedValues = new Set();
  world.upstream.answer(answerByCredential);
  await world.sql`delete from executor.outbox`;
});

let count = 0;
async function createSecret(value = canary()) {
  const name = `refused-${(count += 1)}`;
  const { id } = await storeValue(name, value);
  return { id, name, value };
}
const storeValue = (name: string, value: string) =>
  world.gateway.createSecret(
    { principal: world.admin, body: { name, value, allowed_hosts: [world.upstream.host] } },
    testDeadline(),
  );

type StoredSecret = Awaited<ReturnType<typeof createSecret>>;
const createReadCall = () => world.actionCall('get', { id: 'a' });
const createWriteCall = () => world.actionCall('create', { title: 'a', password: 'b', room: 'c' });

async function executeCall(made: Call, secret: Pick<StoredSecret, 'id' | 'name'>) {
  const permit = world.permitOf(made, { secrets: [secret] });
  return world.gateway.execute({ permit, call: made, options, context }, testDeadline());
}
const findRefusedAt = async ({ id }: Pick<StoredSecret, 'id'>) =>
  (await world.gateway.getSecret({ principal: world.admin, id }, testDeadline())).refused_at;
const listEvents = async () => [
  ...(await world.outbox('credential.refused')),
  ...(await world.outbox('credential.accepted')),
];
/**
 * Moves the last success two minutes back. In the first minute after a success no refusal is noted.
 */
const endQuietMinute = ({ id }: Pick<StoredSecret, 'id'>) =>
  world.sql`update executor.secret set accepted_at = now() - interval '2 minutes' where id = ${id}`;

describe('a secret that the provider refuses', () => {
  test.each([
    ['read', createReadCall],
    ['write', createWriteCall],
  ])(
    'is marked as refused by the first 401 to a %s, and further calls are still sent',
    async (_kind, createCall) => {
      const secret = await createSecret();
      expect(await findRefusedAt(secret)).toBeNull();
      await executeCall(createCall(), secret);
      const markedAt = await findRefusedAt(secret);
      expect(markedAt).toEqual(expect.any(String));
      await executeCall(createCall(), secret);
      expect(world.upstream.hits).toHaveLength(2);
      expect(await findRefusedAt(secret)).toBe(markedAt);
      const [event, ...others] = await listEvents();
      expect(others).toEqual([]);
      expect(event).toMatchObject({
        type: 'credential.refused',
        audience: [world.userId],
        data: { kind: 'secret', id: secret.id, name: secret.name, at: markedAt },
      });
      expect(JSON.stringify(event)).not.toContain(secret.value);
    },
  );

  test('is shown as refused in the list of secrets', async () => {
    const secret = await createSecret();
    await executeCall(createReadCall(), secret);
    const { items } = await world.gateway.listSecrets(
      { principal: world.admin, page: { limit: 50, cursor: null } },
      testDeadline(),
    );
    expect(items.find(({ id }) => id === secret.id)?.refused_at).toEqual(expect.any(String));
  });

  test('is described as refused to the registry, which shows it at the services that use the secret', async () => {
    const secret = await createSecret();
    const describeSecret = async () => {
      const names = [secret.name];
      const { orgId, userId } = world;
      return world.registry.describeSecrets({ orgId, userId, names }, testDeadline());
    };
    expect((await describeSecret()).secrets).toMatchObject([{ id: secret.id, refusedAt: null }]);
    await executeCall(createReadCall(), secret);
    expect((await describeSecret()).secrets).toMatchObject([
      { id: secret.id, refusedAt: await findRefusedAt(secret) },
    ]);
  });

  test('is no longer marked as refused after a call with it succeeded', async () => {
    const secret = await createSecret();
    await executeCall(createReadCall(), secret);
    acceptedValues.add(secret.value);
    await executeCall(createReadCall(), secret);
    await executeCall(createReadCall(), secret);
    expect(await findRefusedAt(secret)).toBeNull();
    expect((await listEvents()).map(({ type }) => type)).toEqual([
      'credential.refused',
      'credential.accepted',
    ]);
  });

  test('is marked as refused only by a 401, and stays marked after any other failure', async () => {
    const secret = await createSecret();
    const answerWithFailure: Answers = (_hit, reply) => {
      reply.statusCode = 403;
      reply.end('{}');
    };
    world.upstream.answer(answerWithFailure);
    await executeCall(createReadCall(), secret);
    expect(await findRefusedAt(secret)).toBeNull();
    world.upstream.answer(answerByCredential);
    await executeCall(createReadCall(), secret);
    world.upstream.answer(answerWithFailure);
    await executeCall(createReadCall(), secret);
    expect(await findRefusedAt(secret)).toEqual(expect.any(String));
  });

  test('is not marked after a new version is stored, and the first success of that version is announced', async () => {
    const secret = await createSecret();
    await executeCall(createReadCall(), secret);
    const value = canary();
    await storeValue(secret.name, value);
    expect(await findRefusedAt(secret)).toBeNull();
    acceptedValues.add(value);
    await executeCall(createReadCall(), secret);
    expect((await listEvents()).map(({ type }) => type)).toEqual([
      'credential.refused',
      'credential.accepted',
    ]);
  });

  test('is announced again when its next version is refused too', async () => {
    const secret = await createSecret();
    await executeCall(createReadCall(), secret);
    await storeValue(secret.name, canary());
    await executeCall(createReadCall(), secret);
    expect(await findRefusedAt(secret)).toEqual(expect.any(String));
    expect(await listEvents()).toHaveLength(2);
  });

  test('causes no further event for a minute after a success, while the provider refuses and accepts it in turn', async () => {
    const secret = await createSecret();
    await executeCall(createReadCall(), secret);
    for (let round = 0; round < 3; round += 1) {
      acceptedValues.add(secret.value);
      await executeCall(createReadCall(), secret);
      acceptedValues.delete(secret.value);
      await executeCall(createReadCall(), secret);
    }
    expect(await listEvents()).toHaveLength(2);
    await endQuietMinute(secret);
    await executeCall(createReadCall(), secret);
    expect(await listEvents()).toHaveLength(3);
  });

  test('causes no event for a longer time after each further success, doubled up to an hour', async () => {
    const secret = await createSecret();
    const refuseAndAccept = async () => {
      acceptedValues.delete(secret.value);
      await executeCall(createReadCall(), secret);
      acceptedValues.add(secret.value);
      await executeCall(createReadCall(), secret);
    };
    const quietTimes: unknown[] = [];
    await refuseAndAccept();
    for (let round = 0; round < 7; round += 1) {
      const [row] = await world.sql`
        update executor.secret
           set accepted_at = now() - make_interval(secs => refusal_quiet_seconds + 1)
         where id = ${secret.id}
        returning refusal_quiet_seconds
      `;
      quietTimes.push(row?.['refusal_quiet_seconds']);
      await refuseAndAccept();
    }
    expect(quietTimes).toEqual([60, 120, 240, 480, 960, 1920, 3600]);
    const { length: count } = await listEvents();
    await endQuietMinute(secret);
    await refuseAndAccept();
    expect(await listEvents()).toHaveLength(count);

    await world.sql`
      update executor.secret set accepted_at = now() - interval '3 hours' where id = ${secret.id}
    `;
    await refuseAndAccept();
    const [row] = await world.sql`
      select refusal_quiet_seconds from executor.secret where id = ${secret.id}
    `;
    expect(row).toEqual({ refusal_quiet_seconds: 60 });
  });
});

describe('a late answer', () => {
  /** Holds the answer of the next call until `release` with its status is called. */
  function holdNextAnswer() {
    const heldAnswer = Promise.withResolvers<(status: number) => void>();
    world.upstream.answer((_hit, reply) => {
      world.upstream.answer(answerByCredential);
      heldAnswer.resolve((status) => {
        reply.statusCode = status;
        reply.end('{}');
      });
    });
    return heldAnswer.promise;
  }

  test('does not mark a secret version as refused that was stored after the call was sent', async () => {
    const secret = await createSecret();
    const heldAnswer = holdNextAnswer();
    const slow = executeCall(createReadCall(), secret);
    const release = await heldAnswer;
    await storeValue(secret.name, canary());
    release(401);
    await slow;
    expect(await findRefusedAt(secret)).toBeNull();
    expect(await listEvents()).toEqual([]);
  });

  test('does not remove the mark of a later secret version', async () => {
    const secret = await createSecret();
    await executeCall(createReadCall(), secret);
    const heldAnswer = holdNextAnswer();
    const slow = executeCall(createReadCall(), secret);
    const release = await heldAnswer;
    await storeValue(secret.name, canary());
    await executeCall(createReadCall(), secret);
    const markedAt = await findRefusedAt(secret);
    release(200);
    await slow;
    expect(markedAt).toEqual(expect.any(String));
    expect(await findRefusedAt(secret)).toBe(markedAt);
  });
});

test('several replicas announce each refusal and each success only once', async () => {
  await using _other = await world.start();
  const secret = await createSecret();
  await Promise.all(Array.from({ length: 20 }, () => executeCall(createReadCall(), secret)));
  expect(await listEvents()).toHaveLength(1);
  acceptedValues.add(secret.value);
  await Promise.all(Array.from({ length: 20 }, () => executeCall(createReadCall(), secret)));
  // A replica that read the secret before it was marked sees the mark when it reads the secret
  // again.
  await expect
    .poll(async () => (await executeCall(createReadCall(), secret), findRefusedAt(secret)))
    .toBeNull();
  expect(await listEvents()).toHaveLength(2);
});
