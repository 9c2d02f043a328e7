import { createHash, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { openFileReader } from '#bus';
import type { FileReader } from '#bus';
import { executor } from '#contracts/bus/executor';
import type { Call, CallOptions } from '#contracts/call';
import { createLogger } from '#telemetry';
import { sweepDispatches } from './usecases/sweep-dispatches.ts';
import { canary, context, createWorld, options, soon, startUpstream } from './world.testing.ts';
import type { World } from './world.testing.ts';

const mebibyte = 1024 * 1024;
let world: World;
let reader: FileReader;

beforeAll(async () => {
  world = await createWorld({ variables: { CAP_RESPONSE_STORED_BYTES: String(8 * mebibyte) } });
  reader = openFileReader(await world.environment.connect('gateway'));
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => world.upstream.reset());

interface More {
  readonly permit?: string;
  readonly more?: Partial<CallOptions>;
}

async function execute(call: Call, { permit, more }: More = {}) {
  const request = {
    permit: permit ?? world.permitOf(call),
    call,
    context,
    options: { ...options, ...more },
  };
  const done = executor.endpoints.execute.response.parse(
    await world.gateway.execute(request, soon()),
  );
  if (done.kind !== 'called') throw new Error('suspended');
  return done.result;
}

/** The file as its caller would download it. */
async function download(url: string | undefined): Promise<Buffer> {
  const id = url?.split('/').at(-1) ?? '';
  const file = await world.gateway.getFile({ principal: world.admin, id }, soon());
  return Buffer.from(await new Response(reader.read(file)).arrayBuffer());
}
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const answerWith = (type: string, body: Buffer | string) =>
  world.upstream.answer((_hit, reply) => reply.setHeader('content-type', type).end(body));
const stored = async () =>
  Number((await world.sql`select count(*) from executor.file`)[0]?.['count'] ?? 0);

describe('a body that is kept as a file', () => {
  test.for<[string, Buffer, string]>([
    ['image/png', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0]), 'get'],
    ['application/octet-stream', randomBytes(3 * mebibyte), 'get'],
    ['application/json', Buffer.from(JSON.stringify('x'.repeat(600_000))), 'get'],
    ['text/plain; charset=utf-8', Buffer.from('ü'.repeat(400_000)), 'get'],
    ['text/plain', Buffer.from('a text, called binary by its template'), 'download'],
  ])('holds %s as it was sent', async ([type, body, action]) => {
    answerWith(type, body);
    const call =
      action === 'get' ? world.actionCall('get', { id: 'a.bin' }) : world.actionCall(action);
    const before = Date.now();
    const { file, body: inline, body_omitted: omitted } = await execute(call);

    expect([inline, omitted]).toEqual([null, undefined]);
    expect(file).toMatchObject({ content_type: type, size: body.length, sha256: sha256(body) });
    const lasts = Date.parse(file?.expires_at ?? '') - before;
    expect(lasts).toBeGreaterThan(3_590_000);
    expect(lasts).toBeLessThan(3_700_000);
    expect(sha256(await download(file?.download_url))).toBe(sha256(body));
  });

  test('is decoded, and named safely by what the upstream calls it', async () => {
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
    expect(await world.gateway.getFile({ principal: world.admin, id }, soon())).toMatchObject({
      name: 'June_report.csv',
      contentType: 'text/csv',
      size: text.length,
    });
  });

  test('is not what a failed download says about its failure', async () => {
    world.upstream.answer((_hit, reply) => {
      reply.writeHead(404, { 'content-type': 'application/json' });
      reply.end('{"error":"gone"}');
    });
    expect(await execute(world.actionCall('download'))).toMatchObject({
      status_code: 404,
      body: { error: 'gone' },
    });
  });

  test('never holds an injected credential, wherever it stands in it', async () => {
    const value = canary();
    const secret = await world.gateway.createSecret(
      {
        principal: world.admin,
        body: { name: 'file_token', tier: 'user', value, allowed_hosts: [world.upstream.host] },
      },
      soon(),
    );
    const echo = `${'y'.repeat(65_530)}${value} ${Buffer.from(value).toString('base64')} `.repeat(
      10,
    );
    for (const type of ['text/plain', 'application/octet-stream']) {
      answerWith(type, echo);
      const call = world.actionCall('get', { id: type });
      const permit = world.permitOf(call, { secrets: [{ id: secret.id, name: 'file_token' }] });
      const { file } = await execute(call, { permit });
      const bytes = await download(file?.download_url);

      expect(bytes.includes(value)).toBe(false);
      expect(bytes.includes(Buffer.from(value).toString('base64').slice(0, 40))).toBe(false);
      expect(bytes.includes('y'.repeat(65_530))).toBe(true);
      expect(file?.sha256).toBe(sha256(bytes));
      expect(bytes.length === echo.length).toBe(type !== 'text/plain');
    }
  });
});

test('a file is not named after a credential that a redirect repeats', async () => {
  const value = canary();
  const secret = await world.gateway.createSecret(
    {
      principal: world.admin,
      body: { name: 'path_token', tier: 'user', value, allowed_hosts: [world.upstream.host] },
    },
    soon(),
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

describe('a download that is elsewhere', () => {
  let storage: Awaited<ReturnType<typeof startUpstream>>;
  beforeAll(async () => {
    storage = await startUpstream();
  });
  afterAll(() => storage[Symbol.asyncDispose]());
  beforeEach(() => storage.reset());

  const withSecret = async (in_: 'header' | 'query', value: string) => {
    const name = `link_${in_}`;
    const secret = await world.gateway.createSecret(
      {
        principal: world.admin,
        body: { name, tier: 'user', value, allowed_hosts: [world.upstream.host] },
      },
      soon(),
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
  const redirectTo = (location: string) =>
    world.upstream.answer((_hit, reply) => reply.writeHead(302, { location }).end());

  test.for(['header', 'query'] as const)(
    'is fetched there without the credential in the %s or anything else of the call',
    async (place) => {
      const value = canary();
      redirectTo(`${storage.baseUrl}/bucket/report.pdf?signature=abc`);
      storage.answer((hit, reply) => {
        if (hit.url.startsWith('/bucket'))
          return reply.writeHead(307, { location: '/moved.pdf' }).end();
        return reply.setHeader('content-type', 'application/pdf').end('%PDF');
      });
      const { call, permit } = await withSecret(place, value);
      const { file } = await execute(call, { permit });

      expect(file).toMatchObject({ content_type: 'application/pdf', name: 'moved.pdf', size: 4 });
      expect(storage.hits.map(({ url }) => url)).toEqual([
        '/bucket/report.pdf?signature=abc',
        '/moved.pdf',
      ]);
      const wire = JSON.stringify(storage.hits);
      expect(wire).not.toContain(value);
      for (const { headers } of storage.hits) {
        expect(Object.keys(headers).toSorted()).toEqual(
          ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'].toSorted(),
        );
      }
    },
  );

  test('is not fetched by a link that repeats the credential: the 3xx is the answer', async () => {
    const value = canary();
    redirectTo(`${storage.baseUrl}/file?key=${encodeURIComponent(value)}`);
    const { call, permit } = await withSecret('query', value);
    const done = await execute(call, { permit });

    expect(done.status_code).toBe(302);
    expect(JSON.stringify(done)).not.toContain(value);
    expect(storage.hits).toHaveLength(0);
  });

  test('is not followed by an action that is no download, nor to an address that is refused', async () => {
    redirectTo(`${storage.baseUrl}/elsewhere`);
    expect((await execute(world.actionCall('get', { id: 1 }))).status_code).toBe(302);
    expect(storage.hits).toHaveLength(0);

    redirectTo('http://169.254.169.254/latest/meta-data');
    await expect(execute(world.actionCall('download'))).rejects.toMatchObject({
      code: 'upstream_refused_address',
    });
    redirectTo('file:///etc/passwd');
    expect((await execute(world.actionCall('download'))).status_code).toBe(302);
  });

  test('is given up after five', async () => {
    redirectTo(`${storage.baseUrl}/0`);
    storage.answer((hit, reply) =>
      reply.writeHead(302, { location: `/${Number(hit.url.slice(1)) + 1}` }).end(),
    );
    expect((await execute(world.actionCall('download'))).status_code).toBe(302);
    expect(storage.hits.map(({ url }) => url)).toEqual(['/0', '/1', '/2', '/3', '/4']);
  });
});

describe('what cannot be kept', () => {
  const endings: [string, (reply: ServerResponse) => void][] = [
    ['too large, as it says', (reply) => reply.end(Buffer.alloc(9 * mebibyte))],
    [
      'too large, as it turns out',
      (reply) => {
        reply.write(randomBytes(5 * mebibyte));
        reply.end(randomBytes(5 * mebibyte));
      },
    ],
    [
      'a bomb',
      (reply) =>
        reply.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(50_000_000))),
    ],
  ];
  test.for(endings)('because it is %s is called all the same', async ([, answer]) => {
    world.upstream.answer((_hit, reply) => {
      reply.setHeader('content-type', 'application/zip');
      answer(reply);
    });
    const files = await stored();
    const {
      status_code: status,
      body_omitted: omitted,
      file,
    } = await execute(world.actionCall('download'));

    expect([status, omitted?.reason, file]).toEqual([200, 'too_large', undefined]);
    expect(await stored()).toBe(files);
  });

  test('because it broke off fails a read, and never a non-read', async () => {
    world.upstream.answer((_hit, reply) => {
      reply.setHeader('content-length', 2 * mebibyte);
      reply.write(Buffer.alloc(mebibyte), () => reply.destroy());
    });
    const files = await stored();
    await expect(execute(world.actionCall('get', { id: 1 }))).rejects.toMatchObject({
      code: 'upstream_incomplete',
    });
    const create = world.actionCall('create', { title: 'a', room: 'b' });
    expect(await execute(create)).toMatchObject({
      status_code: 200,
      body: null,
      body_omitted: { reason: 'incomplete', size: 2 * mebibyte },
    });
    expect(await stored()).toBe(files);
  });

  test('because its upstream stalls ends with the call', async () => {
    world.upstream.answer((_hit, reply) => void reply.write(Buffer.alloc(mebibyte)));
    await expect(
      execute(world.actionCall('get', { id: 1 }), { more: { timeoutMs: 1_500 } }),
    ).rejects.toMatchObject({ code: 'upstream_timeout' });
  });
});

describe('a file is had', () => {
  const make = async () => {
    answerWith('image/png', randomBytes(10));
    const { file } = await execute(world.actionCall('get', { id: 'x' }));
    return file?.download_url.split('/').at(-1) ?? '';
  };
  const get = (principal: string, id: string) => world.gateway.getFile({ principal, id }, soon());

  test('by the caller and its ancestors, and is not there for anybody else', async () => {
    const id = await make();
    const agent = world.chain.at(-1);
    const [user] = world.chain;
    const sibling = '01890000-0000-7000-8000-000000000001';
    const asAgent = (identityId: string) =>
      world.principalOf({ identityId, kind: 'agent', role: null, chain: [...world.chain] });

    expect(await get(asAgent(world.agentId), id)).toMatchObject({ size: 10 });
    expect([user?.id, agent?.id]).toEqual([world.userId, world.agentId]);
    expect(await get(world.admin, id)).toMatchObject({ size: 10 });
    for (const stranger of [
      asAgent(sibling),
      world.principalOf({ identityId: sibling, userId: sibling, role: 'admin' }),
      world.principalOf({ orgId: sibling, role: 'admin' }),
    ]) {
      await expect(get(stranger, id)).rejects.toMatchObject({ code: 'not_found' });
    }
  });

  test('for an hour; then it is expired, and a day later forgotten, by however many sweepers', async () => {
    const id = await make();
    await world.sql`update executor.file set expires_at = now() where id = ${id}`;
    await expect(get(world.admin, id)).rejects.toMatchObject({ code: 'expired' });

    await world.sql`update executor.file set expires_at = now() - interval '25 hours' where id = ${id}`;
    const logger = createLogger({ component: 'test', level: 'silent' });
    await Promise.all([1, 2, 3].map(() => sweepDispatches({ db: world.sql, logger })));
    await expect(get(world.admin, id)).rejects.toMatchObject({ code: 'not_found' });
  });
});
