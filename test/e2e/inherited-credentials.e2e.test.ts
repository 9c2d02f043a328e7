import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Reply } from '../support/http.ts';
import { templateDocument } from './support/template.ts';
import { startUpstream } from './support/upstream.ts';
import type { Upstream } from './support/upstream.ts';
import { created, startWorld, until } from './support/world.ts';
import type { World } from './support/world.ts';

type Level = 'user' | 'org' | 'global';
type Kind = 'template' | 'version' | 'base_url' | 'redirect';
const levels: Level[] = ['user', 'org', 'global'];
const kinds: Kind[] = ['template', 'version', 'base_url', 'redirect'];

/** Credentials that are for one host, and every way in which a template could lead them to another. */
describe('a credential is not inherited', () => {
  const stack = new AsyncDisposableStack();
  let world: World;
  let evil: Upstream;
  let good: Upstream;
  /** Sends whoever comes to the evil one. */
  let bouncer: string;
  let folder: string;

  beforeAll(async () => {
    evil = stack.use(await startUpstream());
    good = stack.use(await startUpstream());
    bouncer = await startBouncer(stack, `${evil.url}/notes`);
    folder = await mkdtemp(join(tmpdir(), 'aag-k1-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    world = stack.use(
      await startWorld({
        EGRESS_ALLOW: [evil.host, good.host, new URL(bouncer).host].join(),
        TEMPLATES_DIR: folder,
      }),
    );
  });
  afterAll(() => stack.disposeAsync());

  /** The example template, with a secret name of its own and a base URL that may be given. */
  const documentFor = (key: string, server: string) =>
    templateDocument(key, server)
      .replace('notes_token', `${key}_token`)
      .replace(`url: '${server}'`, `url: '${server}', base_url_allowed: true`);

  /** Makes a document what the key means on a level: version 1, or the next. */
  async function publish(level: Level, key: string, server: string, version = 1): Promise<void> {
    const openapi = documentFor(key, server);
    const { admin } = world;
    if (level === 'global') {
      await writeFile(join(folder, `${key}.yaml`), openapi);
      await world.recordTemplates();
      const isThere = async () =>
        (await admin.get(`/v1/templates/${key}?tier=global`)).body.version === version;
      return until(isThere, 'the folder to be read again');
    }
    const path = `/v1/templates/${key}`;
    if (version === 1) created(await admin.post('/v1/templates', { openapi, tier: level }));
    else created(await admin.put(`${path}?tier=${level}`, { openapi, version: version - 1 }));
    created(await admin.post(`${path}/publish?tier=${level}`, { version }));
  }

  const store = async (key: string, host: string) =>
    created(
      await world.admin.post('/v1/secrets', {
        name: `${key}_token`,
        value: `CANARY-${key}`,
        allowed_hosts: [host],
      }),
    );
  const connect = (key: string, more: object = {}) =>
    world.admin.post('/v1/services', { template: key, ...more });
  const call = (service: string): Promise<Reply> =>
    world.admin.post('/v1/actions/call', { service, action: 'list_notes', params: {} });
  const arrivedAtGood = (key: string) =>
    good.hits.some(({ headers }) => headers.authorization === `Bearer CANARY-${key}`);

  const attempts: Record<Kind, (level: Level, key: string) => Promise<void>> = {
    /** The template says another host than the secret is for. */
    async template(level, key) {
      await store(key, good.host);
      if (level !== 'global') await publish('global', key, good.url);
      await publish(level, key, evil.url);
      const { status, body } = await connect(key);
      expect({ status, error: body.error }).toEqual({ status: 403, error: 'host_not_allowed' });
      expect(body.hosts).toEqual([evil.host]);
      expect((await call(key)).body.error).toBe('unknown_service');
    },
    /** A later version does. */
    async version(level, key) {
      await store(key, good.host);
      await publish(level, key, good.url);
      created(await connect(key));
      expect((await call(key)).body.status).toBe('called');
      await publish(level, key, evil.url, 2);
      const { status, body } = await world.admin.post(`/v1/services/${key}/upgrade`, {});
      expect({ status, error: body.error }).toEqual({ status: 403, error: 'host_not_allowed' });
      expect((await call(key)).body.status).toBe('called');
      expect(arrivedAtGood(key)).toBe(true);
    },
    /** Whoever connects gives another address. */
    async base_url(level, key) {
      await store(key, good.host);
      await publish(level, key, good.url);
      const { status, body } = await connect(key, { base_url: evil.url });
      expect({ status, error: body.error }).toEqual({ status: 403, error: 'host_not_allowed' });
      created(await connect(key));
      expect((await call(key)).body.status).toBe('called');
      expect(arrivedAtGood(key)).toBe(true);
    },
    /** The right host sends the call on. */
    async redirect(level, key) {
      await store(key, new URL(bouncer).host);
      await publish(level, key, bouncer);
      created(await connect(key));
      expect((await call(key)).body.status).toBe('called');
    },
  };

  test.for(levels.flatMap((level) => kinds.map((kind) => [level, kind] as const)))(
    'by a %s template with another host in its %s',
    async ([level, kind]) => {
      await attempts[kind](level, `notes-${level}-${kind.replace('_', '-')}`);
      expect(JSON.stringify(evil.hits)).not.toContain('CANARY');
    },
  );

  test('from the org by naming it for a template of one’s own', async () => {
    const { admin, url: _ } = world;
    const mia = await world.person({ orgId: admin.orgId, name: 'mia', role: 'member' });
    const secret = {
      name: 'shared',
      value: 'CANARY-shared',
      tier: 'org',
      allowed_hosts: [good.host],
    };
    created(await admin.post('/v1/secrets', secret));
    const openapi = documentFor('mine', evil.url);
    created(await mia.post('/v1/templates', { openapi }));
    created(await mia.post('/v1/templates/mine/publish', { version: 1 }));

    const { status, body } = await mia.post('/v1/services', {
      template: 'mine',
      credentials: { secrets: { token: 'org/shared' } },
    });

    expect({ status, error: body.error }).toEqual({ status: 403, error: 'host_not_allowed' });
    expect(JSON.stringify(evil.hits)).not.toContain('CANARY');
  });

  test('but goes where its owner names it for', async () => {
    await store('notes-named', good.host);
    await publish('user', 'notes-named', evil.url);
    const secrets = { token: 'notes-named_token' };
    created(await connect('notes-named', { credentials: { secrets } }));
    expect((await call('notes-named')).body.status).toBe('called');
    expect(evil.hits.at(-1)?.headers.authorization).toBe('Bearer CANARY-notes-named');
  });
});

async function startBouncer(stack: AsyncDisposableStack, target: string): Promise<string> {
  const server = createServer((_request, reply) => {
    reply.writeHead(302, { location: target }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
