import { randomBytes } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { ConfigError, loadConfig } from '#config';
import type { Gap } from '#contracts/permit';
import { executorConfig } from '../config.ts';
import { startExecutor } from '../start.ts';
import { canary, context, createWorld, options, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

/**
 * How far ciphertexts are moved among the sorted rows. `npm run test:vault` tries every distance,
 * and so every pair of a hundred rows.
 */
const everyDistance = Array.from({ length: 99 }, (_, at) => at + 1);
const distances = process.env['VAULT_EVERY_PAIR'] === undefined ? [1, 5, 20, 63] : everyDistance;

const orgsCount = 5;
const secretsCount = 4;
const versionsCount = 5;

let world: World;
/** Rows sorted by org, secret and version. */
let rows: { org: string; secret: string; version: number; sealed: Buffer }[];

beforeAll(async () => {
  world = await createWorld();
  for (let org = 0; org < orgsCount; org += 1) {
    const principal = world.principalOf({ role: 'admin', orgId: uuidv7() });
    for (let at = 0; at < secretsCount; at += 1) {
      for (let version = 0; version < versionsCount; version += 1) {
        const body = {
          name: `swap-${at}`,
          value: canary(),
          allowed_hosts: [world.upstream.host],
        };
        await world.gateway.createSecret({ principal, body }, testDeadline());
      }
    }
  }
  rows = await world.sql<typeof rows>`
    select org_id as org, secret_id as secret, version, sealed
      from executor.secret_version
     order by org_id, secret_id, version
  `;
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => world.upstream.reset());

/** Drops the caches. The test changes rows directly, so no event does that. */
async function dropCaches(): Promise<void> {
  const { nats } = await world.environment.connect('executor');
  nats.publish('evt.executor.secret.changed', JSON.stringify({ data: {} }));
  await nats.flush();
}

async function moveCiphertexts(distance: number): Promise<void> {
  const movedRows = rows.map(({ secret, version }, at) => ({
    secret,
    version,
    sealed: rows[(at + distance) % rows.length]!.sealed.toString('hex'),
  }));
  await world.sql`
    update executor.secret_version as stored
       set sealed = decode(moved.sealed, 'hex')
      from jsonb_to_recordset(${JSON.stringify(movedRows)}::text::jsonb)
           as moved (secret uuid, version int, sealed text)
     where stored.secret_id = moved.secret
       and stored.version = moved.version
  `;
  await dropCaches();
}

/**
 * Opens a version in the only ways that exist: the current version by sending it, an earlier
 * version by restoring it.
 */
async function openVersion({ org, secret, version }: (typeof rows)[number]): Promise<string> {
  const call = world.actionCall('get', { id: '1' });
  const secrets = [{ id: secret, name: 'x' }];
  const openedSecrets =
    version === versionsCount
      ? world.gateway.execute(
          { permit: world.permitOf(call, { orgId: org, secrets }), call, options, context },
          testDeadline(),
        )
      : world.gateway.restoreSecretVersion(
          {
            principal: world.principalOf({ role: 'admin', orgId: org }),
            id: secret,
            version,
            context,
          },
          testDeadline(),
        );
  return openedSecrets.then(
    () => 'opened',
    ({ code }: { code: string }) => code,
  );
}

describe('a ciphertext', { timeout: 600_000 }, () => {
  test.for(distances.map((distance) => [distance] as const))(
    'cannot be opened when it is copied to a row of another version, secret or org (%i rows further)',
    async ([distance]) => {
      expect(rows).toHaveLength(100);
      await moveCiphertexts(distance);
      const outcomes: string[] = [];
      for (const row of rows) outcomes.push(await openVersion(row));

      expect(new Set(outcomes)).toEqual(new Set(['credential_missing']));
      expect(world.upstream.hits).toEqual([]);
    },
  );

  test('can be opened in its own row', async () => {
    await moveCiphertexts(0);
    const current = rows.filter(({ version }) => version === versionsCount);
    for (const row of current) expect(await openVersion(row)).toBe('opened');
    expect(new Set(world.upstream.hits.map(({ headers }) => headers.authorization)).size).toBe(20);
  });

  test('cannot be opened for another purpose (secrets, data keys, the key check and frozen calls)', async () => {
    const call = world.actionCall('create', { title: 'Frozen', room: 'C07' });
    const previews = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const approvalId = uuidv7();
        const gap = world.gapOf(call, { jti: approvalId, orgId: rows[0]!.org });
        const shownCard = await world.approvals.preview(
          { gap, call, options, approvalId },
          testDeadline(),
        );
        if (shownCard.kind !== 'preview') throw new Error(shownCard.kind);
        return { ...shownCard, approvalId, gap };
      }),
    );
    const replay = async (at: number, sealedCall: string, orgId = rows[0]!.org) => {
      const { approvalId, gap } = previews[at]!;
      const gapContent = JSON.parse(
        Buffer.from(gap.split('.')[0] ?? '', 'base64url').toString(),
      ) as Gap;
      const permit = world.permitOf(call, {
        orgId,
        target: gapContent.target,
        approvalId,
        executionId: uuidv7(),
      });
      return world.approvals.executeFrozen({ permit, sealedCall, context }, testDeadline()).then(
        () => 'sent',
        ({ code }: { code: string }) => code,
      );
    };
    const others = [
      previews[1]!.sealedCall,
      previews[2]!.sealedCall,
      ...rows.slice(0, 6).map(({ sealed }) => sealed.toString('base64url')),
      randomBytes(200).toString('base64url'),
    ];
    for (const sealedCall of others) expect(await replay(0, sealedCall)).not.toBe('sent');
    expect(await replay(0, previews[0]!.sealedCall, rows.at(-1)!.org)).not.toBe('sent');
    expect(world.upstream.hits).toEqual([]);

    const [first] = rows.filter(({ version }) => version === versionsCount);
    const frozenBytes = Buffer.from(previews[0]!.sealedCall, 'base64url');
    await world.sql`
      update executor.secret_version set sealed = ${frozenBytes}
       where secret_id = ${first!.secret} and version = ${first!.version}
    `;
    await dropCaches();
    expect(await openVersion(first!)).toBe('credential_missing');
    await moveCiphertexts(0);

    expect(await replay(0, previews[0]!.sealedCall)).toBe('sent');
  });

  test('prevents a start, or opens nothing, when it is another org’s data key or key check', async () => {
    const orgs = [...new Set(rows.map(({ org }) => org))];
    const keys = await world.sql<{ org: string; wrapped: Buffer }[]>`
      select org_id as org, wrapped from executor.data_key where org_id in ${world.sql(orgs)} order by org_id
    `;
    const storeWrappedKey = (org: string, wrapped: Buffer) =>
      world.sql`update executor.data_key set wrapped = ${wrapped} where org_id = ${org}`;
    for (const [at, { org }] of keys.entries()) {
      await storeWrappedKey(org, keys[(at + 1) % keys.length]!.wrapped);
    }
    await dropCaches();
    const current = rows.filter(({ version }) => version === versionsCount);
    for (const row of current) expect(await openVersion(row)).toBe('unavailable');
    for (const { org, wrapped } of keys) await storeWrappedKey(org, wrapped);
    await dropCaches();
    for (const row of current) expect(await openVersion(row)).toBe('opened');

    await world.sql`update executor.key_check set sealed = ${keys[0]!.wrapped}`;
    const startAttempt = startExecutor(loadConfig(executorConfig, world.variables));
    await expect(startAttempt).rejects.toBeInstanceOf(ConfigError);
  });
});
