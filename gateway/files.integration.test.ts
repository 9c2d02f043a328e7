import { createHash, randomBytes, randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { openFileWriter } from '#bus';
import { AppError } from '#errors';
import { createStage } from './neighbours.testing.ts';
import type { Stage } from './neighbours.testing.ts';
import type { RunningGateway } from './start.ts';

const size = 5 * 1024 * 1024 + 1;
const bytes = randomBytes(size);
const sha256 = (body: Uint8Array) => createHash('sha256').update(body).digest('hex');

describe('GET /v1/files/{id}', () => {
  let stage: Stage;
  let gateway: RunningGateway;
  let token: string;
  const known = { name: 'June.html', contentType: 'text/html; charset=utf-8', size };
  const files = new Map<string, { chunksId: string } & typeof known>();

  async function keep(parts: Partial<typeof known> = {}): Promise<string> {
    const id = randomUUID();
    const one = async function* () {
      yield bytes;
    };
    const { chunksId } = await openFileWriter(stage.buses.executor).write(one());
    files.set(id, { ...known, chunksId, ...parts });
    return id;
  }
  const get = (id: string, init: RequestInit = {}) =>
    fetch(`${gateway.url}/v1/files/${id}`, {
      headers: { authorization: `Bearer ${token}` },
      ...init,
    });

  beforeAll(async () => {
    stage = await createStage();
    stage.neighbours.executor.getFile = async ({ id }) => {
      const found = files.get(id);
      if (found === undefined) throw new AppError('not_found', 'There is no such file.');
      return found;
    };
    gateway = await stage.gateway();
    token = stage.tokenFor();
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await stage[Symbol.asyncDispose]();
  });

  test('gives the bytes, to be saved and never shown', async () => {
    const answer = await get(await keep());

    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-length': String(size),
      'content-disposition': 'attachment; filename="June.html"',
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    expect(sha256(new Uint8Array(await answer.arrayBuffer()))).toBe(sha256(bytes));
  });

  test('says by HEAD what GET would give', async () => {
    const answer = await get(await keep(), { method: 'HEAD' });
    expect([answer.status, answer.headers.get('content-length')]).toEqual([200, String(size)]);
    expect((await answer.arrayBuffer()).byteLength).toBe(0);
  });

  test('is broken off, not cut, when the store has not all of it', async () => {
    const answer = await get(await keep({ size: size + 1 }));
    await expect(answer.arrayBuffer()).rejects.toThrow();
    // The gateway serves on.
    expect((await get(await keep())).status).toBe(200);
  });

  test('is refused without a credential, without the scope, and for an id that is none', async () => {
    const id = await keep();
    expect((await get(id, { headers: {} })).status).toBe(401);
    const approver = stage.tokenFor({ scopes: ['approvals'] });
    const refused = await get(id, { headers: { authorization: `Bearer ${approver}` } });
    expect([refused.status, ((await refused.json()) as { error: string }).error]).toEqual([
      403,
      'insufficient_scope',
    ]);
    expect((await get('not-an-id')).status).toBe(400);
    expect((await get(randomUUID())).status).toBe(404);
  });
});
