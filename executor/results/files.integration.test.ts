import { createHash, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { openFileReader } from '#bus';
import type { FileReader } from '#bus';
import { executor } from '#contracts/bus/executor';
import type { Call, CallOptions } from '#contracts/call';
import { createLogger } from '#telemetry';
import { sweepDispatches } from '../calls/sweep-dispatches.ts';
import {
  canary,
  context,
  createWorld,
  options,
  testDeadline,
  startUpstream,
} from '../world.testing.ts';
import type { World } from '../world.testing.ts';

const mebibyte = 1024 * 1024;
let world: World;
let reader: FileReader;

beforeAll(async () => {
  world = await createWorld({ variables: { CAP_RESPONSE_STORED_BYTES: String(8 * mebibyte) } });
  reader = openFileReader(await world.environment.connect('gateway'));
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => world.upstream.reset());

interface ExecuteParts {
  readonly permit?: string;
  readonly more?: Partial<CallOptions>;
}

async function execute(call: Call, { permit, more }: ExecuteParts = {}) {
  const request = {
    permit: permit ?? world.permitOf(call),
    call,
    context,
    options: { ...options, ...more },
  };
  const done = executor.endpoints.execute.response.parse(
    await world.gateway.execute(request, testDeadline()),
  );
  if (done.kind !== 'called') throw new Error('suspended');
  return done.result;
}

/** Downloads the file as the caller would. */
async function download(url: string | undefined): Promise<Buffer> {
  const id = url?.split('/').at(-1) ?? '';
  const file = await world.gateway.getFile({ principal: world.admin, id }, testDeadline());
  return Buffer.from(await new Response(reader.read(file)).arrayBuffer());
}
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const answerWith = (type: string, body: Buffer | string) =>
  world.upstream.answer((_hit, reply) => reply.setHeader('content-type', type).end(body));
const storedFiles = async () =>
  Number((await world.sql`select count(*) from executor.file`)[0]?.['count'] ?? 0);

describe('a body that is kept as a file', () => {
  test.for<[string, Buffer, string]>([
    ['image/png', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0]), 'get'],
    ['application/octet-stream', randomBytes(3 * mebibyte), 'get'],
    ['application/json', Buffer.from(JSON.stringify('x'.repeat(600_000))), 'get'],
    ['text/plain; charset=utf-8', Buffer.from('ü'.repeat(400_000)), 'get'],
    ['text/plain', Buffer.from('a text, called binary by its template'), 'download'],
  ])(
    'contains a body of media type %s byte for byte as it was sent',
    async ([type, body, action]) => {
      answerWith(type, body);
      const call =
        action === 'get' ? world.actionCall('get', { id: 'a.bin' }) : world.actionCall(action);
      const before = Date.now();
      const { file, body: inline, body_omitted: omitted } = await execute(call);

      expect([inline, omitted]).toEqual([null, undefined]);
      expect(file).toMatchObject({ content_type: type, size: body.length, sha256: sha256(body) });
      const lifetimeMs = Date.parse(file?.expires_at ?? '') - before;
      expect(lifetimeMs).toBeGreaterThan(3_590_000);
      expect(lifetimeMs).toBeLessThan(3_700_000);
      expect(sha256(await download(file?.download_url))).toBe(sha256(body));
    },
  );

  test('is decompressed, and gets a safe file name made from the upstream’s file name', async () => {
    const text = randomBytes(750_000).toString('hex');
    world.upstream.answer((_hit, reply) => {
      reply.setHeader('content-type', 'text/csv');
      reply.setHeader('content-encoding', 'gzip');
      reply.setHeader('content-disposition', 'attachment; filename="../../June report.csv"');
      reply.end(gzipSync(text));
    });
    const { file } = await execute(world.actionCall('get', { id: 1 }));

    expect(file).toMatchObject({ size: text.length, sha256: sha256(Buffer.from(text)) });
    const id = file?.download_url.split('/').at(-1) ?? '';
    expect(
      await world.gateway.getFile({ principal: world.admin, id }, testDeadline()),
    ).toMatchObject({
      name: 'June_report.csv',
      contentType: 'text/csv',
      size: text.length,
    });
  });

  test('is never the error body of a failed download', async () => {
    world.upstream.answer((_hit, reply) => {
      reply.writeHead(404, { 'content-type': 'application/json' });
      reply.end('{"error":"gone"}');
    });
    expect(await execute(world.actionCall('download'))).toMatchObject({
      status_code: 404,
      body: { error: 'gone' },
    });
  });

  test('never contains an injected credential, at any position', async () => {
    const value = canary();
    const secret = await world.gateway.createSecret(
      {
        principal: world.admin,
        body: { name: 'file_token', tier: 'user', value, allowed_hosts: [world.upstream.host] },
      },
      testDeadline(),
    );
    const echoedText =
      `${'y'.repeat(65_530)}${value} ${Buffer.from(value).toString('base64')} `.repeat(10);
    for (const type of ['text/plain', 'application/octet-stream']) {
      answerWith(type, echoedText);
      const call = world.actionCall('get', { id: type });
      const permit = world.permitOf(call, { secrets: [{ id: secret.id, name: 'file_token' }] });
      const { file } = await execute(call, { permit });
      const bytes = await download(file?.download_url);

      expect(bytes.includes(value)).toBe(false);
      expect(bytes.includes(Buffer.from(value).toString('base64').slice(0, 40))).toBe(false);
      expect(bytes.includes('y'.repeat(65_530))).toBe(true);
      expect(file?.sha256).toBe(sha256(bytes));
      expect(bytes.length === echoedText.length).toBe(type !== 'text/plain');
    }
  });
});

test('a file does not get its name from a redirect that repeats a credential', async () => {
  const value = canary();
  const secret = await world.gateway.createSecret(
    {
      principal: world.admin,
      body: { name: 'path_token', tier: 'user', value, allowed_hosts: [world.upstream.host] },
    },
    testDeadline(),
  );
  world.upstream.answer((hit, reply) => {
    const location = `/things/${hit.headers.authorization?.split(' ')[1]}`;
    if (hit.url !== location) return reply.writeHead(302, { location }).end();
    return reply.setHeader('content-type', 'image/png').end('png');
  });
  const call = world.actionCall('get', { id: 1 });
  const permit = world.permitOf(call, { secrets: [{ id: secret.id, name: 'path_token' }] });
  const done = await execute(call, { permit });

  expect(world.upstream.hits).toHaveLength(2);
  expect(done.file?.size).toBe(3);
  expect(JSON.stringify(done)).not.toContain(value);
});

describe('a download from another host', () => {
  let storageHost: Awaited<ReturnType<typeof startUpstream>>;
  beforeAll(async () => {
    storageHost = await startUpstream();
  });
  afterAll(() => storageHost[Symbol.asyncDispose]());
  beforeEach(() => storageHost.reset());

  const withSecret = async (in_: 'header' | 'query', value: string) => {
    const name = `link_${in_}`;
    const secret = await world.gateway.createSecret(
      {
        principal: world.admin,
        body: { name, tier: 'user', value, allowed_hosts: [world.upstream.host] },
      },
      testDeadline(),
    );
    const call = world.actionCall('download');
    const injection = {
      kind: 'secret' as const,
      credentialId: secret.id,
      credentialName: name,
      in: in_,
      key: 'x-api-key',
      prefix: '',
      encoding: 'raw' as const,
    };
    return { call, permit: world.permitOf(call, { injections: [injection] }) };
  };
  const answerWithRedirect = (location: string) =>
    world.upstream.answer((_hit, reply) => reply.writeHead(302, { location }).end());

  test.for(['header', 'query'] as const)(
    'is fetched without the credential in the %s and without any other part of the call',
    async (place) => {
      const value = canary();
      answerWithRedirect(`${storageHost.baseUrl}/bucket/report.pdf?signature=abc`);
      storageHost.answer((hit, reply) => {
        if (hit.url.startsWith('/bucket'))
          return reply.writeHead(307, { location: '/moved.pdf' }).end();
        return reply.setHeader('content-type', 'application/pdf').end('%PDF');
      });
      const { call, permit } = await withSecret(place, value);
      const { file } = await execute(call, { permit });

      expect(file).toMatchObject({ content_type: 'application/pdf', name: 'moved.pdf', size: 4 });
      expect(storageHost.hits.map(({ url }) => url)).toEqual([
        '/bucket/report.pdf?signature=abc',
        '/moved.pdf',
      ]);
      const wire = JSON.stringify(storageHost.hits);
      expect(wire).not.toContain(value);
      for (const { headers } of storageHost.hits) {
        expect(Object.keys(headers).toSorted()).toEqual(
          ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'].toSorted(),
        );
      }
    },
  );

  test('is not fetched when its URL contains the credential, and the redirect is the answer', async () => {
    const value = canary();
    answerWithRedirect(`${storageHost.baseUrl}/file?key=${encodeURIComponent(value)}`);
    const { call, permit } = await withSecret('query', value);
    const done = await execute(call, { permit });

    expect(done.status_code).toBe(302);
    expect(JSON.stringify(done)).not.toContain(value);
    expect(storageHost.hits).toHaveLength(0);
  });

  test('is fetched only by download actions, and never from a forbidden address', async () => {
    answerWithRedirect(`${storageHost.baseUrl}/elsewhere`);
    expect((await execute(world.actionCall('get', { id: 1 }))).status_code).toBe(302);
    expect(storageHost.hits).toHaveLength(0);

    answerWithRedirect('http://169.254.169.254/latest/meta-data');
    await expect(execute(world.actionCall('download'))).rejects.toMatchObject({
      code: 'upstream_refused_address',
    });
    answerWithRedirect('file:///etc/passwd');
    expect((await execute(world.actionCall('download'))).status_code).toBe(302);
  });

  test('ends after five redirects', async () => {
    answerWithRedirect(`${storageHost.baseUrl}/0`);
    storageHost.answer((hit, reply) =>
      reply.writeHead(302, { location: `/${Number(hit.url.slice(1)) + 1}` }).end(),
    );
    expect((await execute(world.actionCall('download'))).status_code).toBe(302);
    expect(storageHost.hits.map(({ url }) => url)).toEqual(['/0', '/1', '/2', '/3', '/4']);
  });
});

describe('the body of an answer', () => {
  const endings: [string, (reply: ServerResponse) => void][] = [
    ['larger than allowed by its Content-Length', (reply) => reply.end(Buffer.alloc(9 * mebibyte))],
    [
      'larger than allowed without a Content-Length',
      (reply) => {
        reply.write(randomBytes(5 * mebibyte));
        reply.end(randomBytes(5 * mebibyte));
      },
    ],
    [
      'compressed and becomes too large',
      (reply) =>
        reply.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(50_000_000))),
    ],
  ];
  test.for(endings)(
    'leaves the outcome of the call `called` when the body is %s',
    async ([, answer]) => {
      world.upstream.answer((_hit, reply) => {
        reply.setHeader('content-type', 'application/zip');
        answer(reply);
      });
      const files = await storedFiles();
      const {
        status_code: status,
        body_omitted: omitted,
        file,
      } = await execute(world.actionCall('download'));

      expect([status, omitted?.reason, file]).toEqual([200, 'too_large', undefined]);
      expect(await storedFiles()).toBe(files);
    },
  );

  test('makes a read fail when the body breaks off, but leaves the outcome of a non-read `called`', async () => {
    world.upstream.answer((_hit, reply) => {
      reply.setHeader('content-length', 2 * mebibyte);
      reply.write(Buffer.alloc(mebibyte), () => reply.destroy());
    });
    const files = await storedFiles();
    await expect(execute(world.actionCall('get', { id: 1 }))).rejects.toMatchObject({
      code: 'upstream_incomplete',
    });
    const createCall = world.actionCall('create', { title: 'a', room: 'b' });
    expect(await execute(createCall)).toMatchObject({
      status_code: 200,
      body: null,
      body_omitted: { reason: 'incomplete', size: 2 * mebibyte },
    });
    expect(await storedFiles()).toBe(files);
  });

  test('ends with the call when the upstream stalls', async () => {
    world.upstream.answer((_hit, reply) => void reply.write(Buffer.alloc(mebibyte)));
    await expect(
      execute(world.actionCall('get', { id: 1 }), { more: { timeoutMs: 1_500 } }),
    ).rejects.toMatchObject({ code: 'upstream_timeout' });
  });
});

describe('the download of a stored file', () => {
  const storeFile = async () => {
    answerWith('image/png', randomBytes(10));
    const { file } = await execute(world.actionCall('get', { id: 'x' }));
    return file?.download_url.split('/').at(-1) ?? '';
  };
  const getFileAs = (principal: string, id: string) =>
    world.gateway.getFile({ principal, id }, testDeadline());

  test('is allowed only to the caller and its ancestors', async () => {
    const id = await storeFile();
    const agent = world.chain.at(-1);
    const [user] = world.chain;
    const sibling = '01890000-0000-7000-8000-000000000001';
    const principalOfAgent = (identityId: string) =>
      world.principalOf({ identityId, kind: 'agent', role: null, chain: [...world.chain] });

    expect(await getFileAs(principalOfAgent(world.agentId), id)).toMatchObject({ size: 10 });
    expect([user?.id, agent?.id]).toEqual([world.userId, world.agentId]);
    expect(await getFileAs(world.admin, id)).toMatchObject({ size: 10 });
    for (const stranger of [
      principalOfAgent(sibling),
      world.principalOf({ identityId: sibling, userId: sibling, role: 'admin' }),
      world.principalOf({ orgId: sibling, role: 'admin' }),
    ]) {
      await expect(getFileAs(stranger, id)).rejects.toMatchObject({ code: 'not_found' });
    }
  });

  test('is possible for an hour; then the file has expired, and after a day it is deleted', async () => {
    const id = await storeFile();
    await world.sql`update executor.file set expires_at = now() where id = ${id}`;
    await expect(getFileAs(world.admin, id)).rejects.toMatchObject({ code: 'expired' });

    await world.sql`update executor.file set expires_at = now() - interval '25 hours' where id = ${id}`;
    const logger = createLogger({ component: 'test', level: 'silent' });
    await Promise.all([1, 2, 3].map(() => sweepDispatches({ db: world.sql, logger })));
    await expect(getFileAs(world.admin, id)).rejects.toMatchObject({ code: 'not_found' });
  });
});
