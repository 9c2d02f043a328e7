import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Reply } from '../support/http.ts';
import { templateDocument } from '../support/template.ts';
import { startUpstream } from '../support/upstream.ts';
import type { Upstream } from '../support/upstream.ts';
import { successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { World } from '../support/world.ts';

type TemplateTier = 'user' | 'org' | 'global';
type AttemptKind = 'template' | 'version' | 'base_url' | 'redirect';
const levels: TemplateTier[] = ['user', 'org', 'global'];
const kinds: AttemptKind[] = ['template', 'version', 'base_url', 'redirect'];

/**
 * Credentials that may be sent to one host only. The tests try every way in which a template could
 * send them to another host.
 */
describe('a credential for one host', () => {
  const stack = new AsyncDisposableStack();
  let world: World;
  let evilUpstream: Upstream;
  let goodUpstream: Upstream;
  /** The address of a server that redirects every request to `evilUpstream`. */
  let bouncerUrl: string;
  let folder: string;

  beforeAll(async () => {
    evilUpstream = stack.use(await startUpstream());
    goodUpstream = stack.use(await startUpstream());
    bouncerUrl = await startBouncer(stack, `${evilUpstream.url}/notes`);
    folder = await mkdtemp(join(tmpdir(), 'aag-k1-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    world = stack.use(
      await startWorld({
        EGRESS_ALLOW: [evilUpstream.host, goodUpstream.host, new URL(bouncerUrl).host].join(),
        TEMPLATES_DIR: folder,
      }),
    );
  });
  afterAll(() => stack.disposeAsync());

  /** The example template, but with its own secret name. Its services may set their base URL. */
  const documentFor = (key: string, server: string) =>
    templateDocument(key, server)
      .replace('notes_token', `${key}_token`)
      .replace(`url: '${server}'`, `url: '${server}', base_url_allowed: true`);

  /** Publishes a document as a version of the template in the given tier. */
  async function publish(
    level: TemplateTier,
    key: string,
    server: string,
    version = 1,
  ): Promise<void> {
    const openapi = documentFor(key, server);
    const { admin } = world;
    if (level === 'global') {
      await writeFile(join(folder, `${key}.yaml`), openapi);
      await world.recordTemplates();
      const isPublished = async () =>
        (await admin.get(`/v1/templates/${key}?tier=global`)).body.version === version;
      return pollUntil(isPublished, 'the folder to be read again');
    }
    const path = `/v1/templates/${key}`;
    if (version === 1)
      successfulBodyOf(await admin.post('/v1/templates', { openapi, tier: level }));
    else
      successfulBodyOf(await admin.put(`${path}?tier=${level}`, { openapi, version: version - 1 }));
    successfulBodyOf(await admin.post(`${path}/publish?tier=${level}`, { version }));
  }

  const storeSecret = async (key: string, host: string) =>
    successfulBodyOf(
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
  const hasArrivedAtGood = (key: string) =>
    goodUpstream.hits.some(({ headers }) => headers.authorization === `Bearer CANARY-${key}`);

  const redirectionAttempts: Record<
    AttemptKind,
    (level: TemplateTier, key: string) => Promise<void>
  > = {
    /** The template's first version already names a host that differs from the secret's host. */
    async template(level, key) {
      await storeSecret(key, goodUpstream.host);
      if (level !== 'global') await publish('global', key, goodUpstream.url);
      await publish(level, key, evilUpstream.url);
      const { status, body } = await connect(key);
      expect({ status, error: body.error }).toEqual({ status: 403, error: 'host_not_allowed' });
      expect(body.hosts).toEqual([evilUpstream.host]);
      expect((await call(key)).body.error).toBe('unknown_service');
    },
    /** A later version of the template names another host than the first. */
    async version(level, key) {
      await storeSecret(key, goodUpstream.host);
      await publish(level, key, goodUpstream.url);
      successfulBodyOf(await connect(key));
      expect((await call(key)).body.status).toBe('called');
      await publish(level, key, evilUpstream.url, 2);
      const { status, body } = await world.admin.post(`/v1/services/${key}/upgrade`, {});
      expect({ status, error: body.error }).toEqual({ status: 403, error: 'host_not_allowed' });
      expect((await call(key)).body.status).toBe('called');
      expect(hasArrivedAtGood(key)).toBe(true);
    },
    /** The caller connects the service with a base URL at another host. */
    async base_url(level, key) {
      await storeSecret(key, goodUpstream.host);
      await publish(level, key, goodUpstream.url);
      const { status, body } = await connect(key, { base_url: evilUpstream.url });
      expect({ status, error: body.error }).toEqual({ status: 403, error: 'host_not_allowed' });
      successfulBodyOf(await connect(key));
      expect((await call(key)).body.status).toBe('called');
      expect(hasArrivedAtGood(key)).toBe(true);
    },
    /** The secret's host redirects the call to another host. */
    async redirect(level, key) {
      await storeSecret(key, new URL(bouncerUrl).host);
      await publish(level, key, bouncerUrl);
      successfulBodyOf(await connect(key));
      expect((await call(key)).body.status).toBe('called');
    },
  };

  test.for(levels.flatMap((level) => kinds.map((kind) => [level, kind] as const)))(
    'is not sent to another host by a template of the tier %s, when the host comes from a new %s',
    async ([level, kind]) => {
      await redirectionAttempts[kind](level, `notes-${level}-${kind.replace('_', '-')}`);
      expect(JSON.stringify(evilUpstream.hits)).not.toContain('CANARY');
    },
  );

  test('is not given to a member’s own template that names the credential', async () => {
    const { admin, url: _ } = world;
    const mia = await world.person({ orgId: admin.orgId, name: 'mia', role: 'member' });
    const secret = {
      name: 'shared',
      value: 'CANARY-shared',
      tier: 'org',
      allowed_hosts: [goodUpstream.host],
    };
    successfulBodyOf(await admin.post('/v1/secrets', secret));
    const openapi = documentFor('mine', evilUpstream.url);
    successfulBodyOf(await mia.post('/v1/templates', { openapi }));
    successfulBodyOf(await mia.post('/v1/templates/mine/publish', { version: 1 }));

    const { status, body } = await mia.post('/v1/services', {
      template: 'mine',
      credentials: { secrets: { token: 'org/shared' } },
    });

    expect({ status, error: body.error }).toEqual({ status: 403, error: 'host_not_allowed' });
    expect(JSON.stringify(evilUpstream.hits)).not.toContain('CANARY');
  });

  test('is sent to another host only if its owner names the credential for that service', async () => {
    await storeSecret('notes-named', goodUpstream.host);
    await publish('user', 'notes-named', evilUpstream.url);
    const secrets = { token: 'notes-named_token' };
    successfulBodyOf(await connect('notes-named', { credentials: { secrets } }));
    expect((await call('notes-named')).body.status).toBe('called');
    expect(evilUpstream.hits.at(-1)?.headers.authorization).toBe('Bearer CANARY-notes-named');
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
