import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createCertificate } from '../../services-src/egress/certificate.testing.ts';
import { withKey } from '../../test/support/http.ts';
import { authorization, redirectUri, startOauthWorld } from '../../test/support/oauth-world.ts';
import type { OauthWorld, SignedIn } from '../../test/support/oauth-world.ts';

const stack = new AsyncDisposableStack();
let world: OauthWorld;
let person: SignedIn;
let origin: string;
/** What the client's own site answers, and how often it was asked for what. */
const answers = new Map<string, (reply: ServerResponse, request: IncomingMessage) => void>();
const asked: string[] = [];

beforeAll(async () => {
  const certificate = createCertificate('localhost');
  const folder = await mkdtemp(join(tmpdir(), 'aag-documents-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, certificate.cert);
  const site = createServer(certificate, (request, reply) => {
    asked.push(request.url ?? '');
    const answer = answers.get(request.url ?? '');
    if (answer === undefined) reply.writeHead(404).end();
    else answer(reply, request);
  }).listen(0, '127.0.0.1');
  await once(site, 'listening');
  stack.defer(() => {
    site.close();
    site.closeAllConnections();
  });
  const host = `localhost:${(site.address() as AddressInfo).port}`;
  origin = `https://${host}`;
  world = stack.use(
    await startOauthWorld({
      authReplicas: 2,
      settings: { EGRESS_ALLOW: host, EGRESS_CA_FILE: caFile },
    }),
  );
  person = await world.person();
});
afterAll(() => stack.disposeAsync());

function publish(path: string, change: Record<string, unknown> = {}, headers = {}): string {
  const url = `${origin}${path}`;
  const document = {
    client_id: url,
    client_name: 'Documented client',
    redirect_uris: ['http://127.0.0.1/callback'],
    ...change,
  };
  answers.set(path, (reply) => {
    reply.writeHead(200, { 'content-type': 'application/json', ...headers });
    reply.end(JSON.stringify(document));
  });
  return url;
}
const start = (clientId: string) => authorization(world.url, { client_id: clientId }).url;

describe('a client that is known by its document', () => {
  test('is let in like any other, and its document is read once for all replicas', async () => {
    const clientId = publish('/client.json', {}, { 'cache-control': 'public, max-age=3600' });
    const page = await person.browser.open(start(clientId));
    expect(page.html).toContain('Let Documented client act for you?');

    const tokens = await world.signInClient(person, { clientId });
    const again = await world.signInClient(person, { clientId });
    const me = await withKey(world.url, again.access_token).get('/v1/identities/me');
    expect(me.body).toMatchObject({ kind: 'agent', name: 'documented-client' });
    const refreshed = await world.post('/oauth/token', {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: tokens.refresh_token,
    });
    expect(refreshed.status).toBe(200);
    expect(asked.filter((path) => path === '/client.json')).toHaveLength(1);
  });

  test('is read again when its time is over, and counts as it is then', async () => {
    const clientId = publish('/moved.json');
    await world.signInClient(person, { clientId });
    await world.db`update auth.oauth_client set document_expires_at = now() where id = ${clientId}`;
    publish('/moved.json', { redirect_uris: ['https://elsewhere.example/cb'] });

    const page = await person.browser.open(start(clientId));
    expect([page.status, page.leavesTo]).toEqual([400, null]);
  });

  test('is not even asked for before somebody is signed in', async () => {
    const clientId = publish('/stranger.json');
    const page = await fetch(start(clientId), { redirect: 'manual' });
    expect(page.headers.get('location')).toMatch(/^\/sign-in\?return_to=/);
    const tokens = await world.post('/oauth/token', { grant_type: 'x', client_id: clientId });
    expect(tokens.body.error).toBe('invalid_client');
    expect(asked).not.toContain('/stranger.json');
  });

  test('comes back only to the addresses of its document', async () => {
    const clientId = publish('/strict.json', { redirect_uris: ['https://app.example/cb'] });
    const page = await person.browser.open(start(clientId));
    expect([page.status, page.leavesTo]).toEqual([400, null]);
    expect(redirectUri).not.toContain('app.example');
  });
});

describe('a document is not accepted', () => {
  test.for<[why: string, path: string, answer: (reply: ServerResponse) => void]>([
    [
      'that redirects',
      '/redirect',
      (reply) => void reply.writeHead(302, { location: '/client.json' }).end(),
    ],
    ['that is missing', '/missing', (reply) => void reply.writeHead(404).end()],
    ['that is no JSON', '/html', (reply) => void reply.end('<html>')],
    ['that is no object', '/list', (reply) => void reply.end('[]')],
    [
      'that is larger than 5 KB',
      '/large',
      (reply) => void reply.end(JSON.stringify({ x: 'x'.repeat(6_000) })),
    ],
    [
      'that ends early',
      '/cut',
      (reply) =>
        void reply.writeHead(200, { 'content-length': '100' }).write('{', () => reply.destroy()),
    ],
  ])('%s', async ([, path, answer]) => {
    answers.set(path, answer);
    const page = await person.browser.open(start(`${origin}${path}`));
    expect([page.status, page.leavesTo]).toEqual([400, null]);
    expect(page.html).toContain('The client metadata document cannot be used');

    // Asked for once a replica, however often a page sends the browser here.
    for (let n = 0; n < 6; n += 1) await person.browser.open(start(`${origin}${path}`));
    expect(asked.filter((each) => each === path).length).toBeLessThanOrEqual(2);
  });

  test.for<[why: string, path: string, change: Record<string, unknown>]>([
    ['that names another address', '/other', { client_id: 'https://app.example/client.json' }],
    ['that names none', '/none', { client_id: undefined }],
    ['with a secret', '/secret', { client_secret: 'CANARY-secret' }],
    ['with a foreign http address', '/foreign', { redirect_uris: ['http://evil.example/cb'] }],
    ['without addresses', '/without', { redirect_uris: [] }],
  ])('%s', async ([, path, change]) => {
    const page = await person.browser.open(start(publish(path, change)));
    expect([page.status, page.leavesTo]).toEqual([400, null]);
  });

  test.for([
    'https://127.0.0.1:9/client.json',
    'https://10.0.0.1/client.json',
    'https://169.254.169.254/latest/meta-data',
    'https://[::1]/client.json',
    'https://localhost:9/client.json',
    'http://localhost/client.json',
    'https://user@localhost/client.json',
  ])('from %s, which is not even asked', async (clientId) => {
    const page = await person.browser.open(start(clientId));
    expect([page.status, page.leavesTo]).toEqual([400, null]);
    expect(page.html).not.toMatch(/10\.0\.0\.1|169\.254/);
  });
});
