import { createHash, randomBytes, randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { openFileWriter } from '#bus';
import { AppError } from '#errors';
import { createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import type { RunningGateway } from '../start.ts';

const size = 5 * 1024 * 1024 + 1;
const bytes = randomBytes(size);
const sha256 = (body: Uint8Array) => createHash('sha256').update(body).digest('hex');

describe('GET /v1/files/{id}', () => {
  let stage: Stage;
  let gateway: RunningGateway;
  let token: string;
  const knownFile = { name: 'June.html', contentType: 'text/html; charset=utf-8', size };
  const files = new Map<string, { chunksId: string } & typeof knownFile>();

  async function keepFile(parts: Partial<typeof knownFile> = {}): Promise<string> {
    const id = randomUUID();
    const oneChunk = async function* () {
      yield bytes;
    };
    const { chunksId } = await openFileWriter(stage.buses.executor).write(oneChunk());
    files.set(id, { ...knownFile, chunksId, ...parts });
    return id;
  }
  const get = (id: string, init: RequestInit = {}) =>
    fetch(`${gateway.url}/v1/files/${id}`, {
      headers: { authorization: `Bearer ${token}` },
      ...init,
    });

  beforeAll(async () => {
    stage = await createStage();
    stage.standIns.executor.getFile = async ({ id }) => {
      const file = files.get(id);
      if (file === undefined) throw new AppError('not_found', 'There is no such file.');
      return file;
    };
    gateway = await stage.gateway();
    token = stage.tokenFor();
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await stage[Symbol.asyncDispose]();
  });

  test('sends the bytes as a download', async () => {
    const answer = await get(await keepFile());

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

  test('answers HEAD with the headers of GET', async () => {
    const answer = await get(await keepFile(), { method: 'HEAD' });
    expect([answer.status, answer.headers.get('content-length')]).toEqual([200, String(size)]);
    expect((await answer.arrayBuffer()).byteLength).toBe(0);
  });

  test('aborts the response when the store lacks a part of the file', async () => {
    const answer = await get(await keepFile({ size: size + 1 }));
    await expect(answer.arrayBuffer()).rejects.toThrow();
    // The gateway still serves requests.
    expect((await get(await keepFile())).status).toBe(200);
  });

  test('refuses a request without a credential, without the scope, or with a malformed id', async () => {
    const id = await keepFile();
    expect((await get(id, { headers: {} })).status).toBe(401);
    const approverToken = stage.tokenFor({ scopes: ['approvals'] });
    const refusedAnswer = await get(id, { headers: { authorization: `Bearer ${approverToken}` } });
    expect([
      refusedAnswer.status,
      ((await refusedAnswer.json()) as { error: string }).error,
    ]).toEqual([403, 'insufficient_scope']);
    expect((await get('not-an-id')).status).toBe(400);
    expect((await get(randomUUID())).status).toBe(404);
  });
});
