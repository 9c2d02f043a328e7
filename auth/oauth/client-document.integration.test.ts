import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createCertificate } from '../../services-src/egress/certificate.testing.ts';
import { createCallerWithKey } from '../../test/support/http.ts';
import {
  createAuthorizationRequest,
  redirectUri,
  startOauthWorld,
} from '../../test/support/oauth-world.ts';
import type { OauthWorld, SignedIn } from '../../test/support/oauth-world.ts';

const stack = new AsyncDisposableStack();
let world: OauthWorld;
let person: SignedIn;
let origin: string;
/** What the client's site answers, by path. */
const answersByPath = new Map<string, (reply: ServerResponse, request: IncomingMessage) => void>();
/** The paths that were requested from the client's site, in order. */
const requestedPaths: string[] = [];

beforeAll(async () => {
  const certificate = createCertificate('localhost');
  const certificateFolder = await mkdtemp(join(tmpdir(), 'aag-documents-'));
  stack.defer(() => rm(certificateFolder, { recursive: true }));
  const caFile = join(certificateFolder, 'ca.pem');
  await writeFile(caFile, certificate.cert);
  const siteServer = createServer(certificate, (request, reply) => {
    requestedPaths.push(request.url ?? '');
    const answer = answersByPath.get(request.url ?? '');
    if (answer === undefined) reply.writeHead(404).end();
    else answer(reply, request);
  }).listen(0, '127.0.0.1');
  await once(siteServer, 'listening');
  stack.defer(() => {
    siteServer.close();
    siteServer.closeAllConnections();
  });
  const host = `localhost:${(siteServer.address() as AddressInfo).port}`;
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

function publishDocument(path: string, change: Record<string, unknown> = {}, headers = {}): string {
  const url = `${origin}${path}`;
  const document = {
    client_id: url,
    client_name: 'Documented client',
    redirect_uris: ['http://127.0.0.1/callback'],
    ...change,
  };
  answersByPath.set(path, (reply) => {
    reply.writeHead(200, { 'content-type': 'application/json', ...headers });
    reply.end(JSON.stringify(document));
  });
  return url;
}
const authorizationUrl = (clientId: string) =>
  createAuthorizationRequest(world.url, { client_id: clientId }).url;

describe('an OAuth client whose client_id is the URL of a metadata document', () => {
  test('signs in like any other client, and its document is fetched once for all replicas', async () => {
    const clientId = publishDocument(
      '/client.json',
      {},
      { 'cache-control': 'public, max-age=3600' },
    );
    const page = await person.browser.open(authorizationUrl(clientId));
    expect(page.html).toContain('Let “\u2068Documented client\u2069” act for you?');

    const tokens = await world.signInClient(person, { clientId });
    const secondSignIn = await world.signInClient(person, { clientId });
    const me = await createCallerWithKey(world.url, secondSignIn.access_token).get(
      '/v1/identities/me',
    );
    expect(me.body).toMatchObject({ kind: 'agent', name: 'documented-client' });
    const refreshed = await world.post('/oauth/token', {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: tokens.refresh_token,
    });
    expect(refreshed.status).toBe(200);
    expect(requestedPaths.filter((path) => path === '/client.json')).toHaveLength(1);
  });

  test('has its document fetched again when the stored copy has expired, and gets the new content', async () => {
    const clientId = publishDocument('/moved.json');
    await world.signInClient(person, { clientId });
    await world.db`update auth.oauth_client set document_expires_at = now() where id = ${clientId}`;
    publishDocument('/moved.json', { redirect_uris: ['https://elsewhere.example/cb'] });

    const page = await person.browser.open(authorizationUrl(clientId));
    expect([page.status, page.leavesTo]).toEqual([400, null]);
  });

  test('has its document fetched only when a user is signed in', async () => {
    const clientId = publishDocument('/stranger.json');
    const page = await fetch(authorizationUrl(clientId), { redirect: 'manual' });
    expect(page.headers.get('location')).toMatch(/^\/sign-in\?return_to=/);
    const tokens = await world.post('/oauth/token', { grant_type: 'x', client_id: clientId });
    expect(tokens.body.error).toBe('invalid_client');
    expect(requestedPaths).not.toContain('/stranger.json');
  });

  test('may use only the redirect URIs of its document', async () => {
    const clientId = publishDocument('/strict.json', { redirect_uris: ['https://app.example/cb'] });
    const page = await person.browser.open(authorizationUrl(clientId));
    expect([page.status, page.leavesTo]).toEqual([400, null]);
    expect(redirectUri).not.toContain('app.example');
  });
});

describe('a client metadata document', () => {
  test.for<[why: string, path: string, answer: (reply: ServerResponse) => void]>([
    [
      'when it redirects',
      '/redirect',
      (reply) => void reply.writeHead(302, { location: '/client.json' }).end(),
    ],
    ['when it is missing', '/missing', (reply) => void reply.writeHead(404).end()],
    ['when it is not JSON', '/html', (reply) => void reply.end('<html>')],
    ['when it is not an object', '/list', (reply) => void reply.end('[]')],
    [
      'when it is larger than 5 KB',
      '/large',
      (reply) => void reply.end(JSON.stringify({ x: 'x'.repeat(6_000) })),
    ],
    [
      'when it ends early',
      '/cut',
      (reply) =>
        void reply.writeHead(200, { 'content-length': '100' }).write('{', () => reply.destroy()),
    ],
  ])('is refused %s', async ([, path, answer]) => {
    answersByPath.set(path, answer);
    const page = await person.browser.open(authorizationUrl(`${origin}${path}`));
    expect([page.status, page.leavesTo]).toEqual([400, null]);
    expect(page.html).toContain('The client metadata document cannot be used');

    // Each replica requests the document once, although the browser opens the same address six
    // times.
    for (let n = 0; n < 6; n += 1) await person.browser.open(authorizationUrl(`${origin}${path}`));
    expect(requestedPaths.filter((each) => each === path).length).toBeLessThanOrEqual(2);
  });

  test.for<[why: string, path: string, change: Record<string, unknown>]>([
    ['with another client_id', '/other', { client_id: 'https://app.example/client.json' }],
    ['without client_id', '/none', { client_id: undefined }],
    ['with a client secret', '/secret', { client_secret: 'CANARY-secret' }],
    [
      'with an http redirect URI on another host',
      '/foreign',
      { redirect_uris: ['http://evil.example/cb'] },
    ],
    ['without redirect URIs', '/without', { redirect_uris: [] }],
  ])('is refused %s', async ([, path, change]) => {
    const page = await person.browser.open(authorizationUrl(publishDocument(path, change)));
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
  ])('is refused at %s without a request to that address', async (clientId) => {
    const page = await person.browser.open(authorizationUrl(clientId));
    expect([page.status, page.leavesTo]).toEqual([400, null]);
    expect(page.html).not.toMatch(/10\.0\.0\.1|169\.254/);
  });
});
