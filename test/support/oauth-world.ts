import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

import { v7 as uuidv7 } from 'uuid';

import { loadConfig } from '#config';
import type { Role } from '#contracts/vocabulary';
import { openDatabase } from '#database';
import type { Database } from '#database';
import { authConfig } from '../../auth/config.ts';
import { hashOf } from '../../auth/domain/checked-token.ts';
import { formatSessionToken } from '../../auth/domain/dashboard-session.ts';
import { insertUser } from '../../auth/repository/identities.ts';
import { insertOrg } from '../../auth/repository/orgs.ts';
import { insertSession } from '../../auth/repository/sessions.ts';
import { startAuth } from '../../auth/start.ts';
import type { RunningAuth } from '../../auth/start.ts';
import { gatewayConfig } from '../../gateway/config.ts';
import { startGateway } from '../../gateway/start.ts';
import { createTestEnvironment } from './environment.ts';
import type { TestEnvironment } from './environment.ts';
import { createCaller } from './http.ts';
import type { Caller, Reply } from './http.ts';
import { openBrowser } from './oauth-browser.ts';
import type { OauthBrowser } from './oauth-browser.ts';

/** A person who is signed in. */
export interface SignedIn extends Caller {
  readonly id: string;
  readonly orgId: string;
  readonly sessionToken: string;
  readonly browser: OauthBrowser;
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly scope: string;
}

/** The authorization server as clients reach it: gateways in front of replicas of auth. */
export interface OauthWorld extends AsyncDisposable {
  readonly environment: TestEnvironment;
  readonly db: Database;
  /** What the deployment calls itself: the first gateway, and the issuer. */
  readonly url: string;
  /** Every gateway, the first one included. */
  readonly urls: readonly string[];
  readonly replicas: readonly RunningAuth[];
  person(fields?: { name?: string; role?: Role; orgId?: string }): Promise<SignedIn>;
  /** The id of a newly registered client. */
  register(metadata?: Record<string, unknown>): Promise<string>;
  /** One form post, as a client sends it. */
  post(path: string, form: Record<string, string>, at?: string): Promise<Reply>;
  /** From the authorization URL to the tokens, consent included. */
  signInClient(person: SignedIn, options?: SignInOptions): Promise<Tokens & { clientId: string }>;
}

interface SignInOptions {
  readonly clientId?: string;
  readonly scope?: string;
  readonly agent?: string;
  readonly name?: string;
}

export const redirectUri = 'http://127.0.0.1:33418/callback';

/** What a client sends to begin, and keeps to finish with (RFC 7636). */
export function authorization(
  baseUrl: string,
  parameters: Record<string, string>,
): { url: string; verifier: string } {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    response_type: 'code',
    redirect_uri: redirectUri,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    state: 'client-state',
    ...parameters,
  });
  return { url: `${baseUrl}/oauth/authorize?${query.toString()}`, verifier };
}

export async function startOauthWorld({
  authReplicas = 1,
  gateways = 1,
  settings = {},
}: {
  authReplicas?: number;
  gateways?: number;
  settings?: Record<string, string>;
} = {}): Promise<OauthWorld> {
  await using startup = new AsyncDisposableStack();
  const environment = startup.use(await createTestEnvironment());
  const port = await freePort();
  const variables = {
    ...environment.variables,
    BASE_URL: `http://127.0.0.1:${port}`,
    RATE_SIGN_IN_PER_MINUTE: '0',
    RATE_IDENTITY_PER_MINUTE: '0',
    RATE_USER_PER_MINUTE: '0',
    RATE_REGISTER_PER_HOUR: '0',
    RATE_PUBLIC_PER_MINUTE: '0',
    ...settings,
  };
  const authSettings = loadConfig(authConfig, variables);
  const db = startup.use(
    openDatabase({ url: authSettings.DATABASE_URL, schema: 'auth', connectionsMax: 4 }),
  );
  const replicas: RunningAuth[] = [];
  for (let n = 0; n < authReplicas; n += 1) {
    replicas.push(startup.use(await startAuth(authSettings)));
  }
  const balancer = startup.use(await balance(replicas.map(({ oauthUrl }) => oauthUrl)));
  const urls: string[] = [];
  for (let n = 0; n < gateways; n += 1) {
    const own = n === 0 ? port : await freePort();
    const known = { OAUTH_URL: balancer.url, PORT: String(own) };
    startup.use(await startGateway(loadConfig(gatewayConfig, { ...variables, ...known })));
    urls.push(`http://127.0.0.1:${own}`);
  }
  const [url = ''] = urls;

  const world: Omit<OauthWorld, typeof Symbol.asyncDispose> = {
    environment,
    db,
    url,
    urls,
    replicas,
    person: (fields) => createPerson(db, url, fields),
    async register(metadata = {}) {
      const body = { redirect_uris: ['http://127.0.0.1/callback'], client_name: 'Test client' };
      const reply = await createCaller(url, {}).post('/oauth/register', { ...body, ...metadata });
      if (reply.status !== 201) throw new Error(`${reply.status} ${JSON.stringify(reply.body)}`);
      return reply.body.client_id;
    },
    async post(path, form, at = url) {
      const reply = await fetch(`${at}${path}`, {
        method: 'POST',
        body: new URLSearchParams(form),
        redirect: 'manual',
      });
      const text = await reply.text();
      const body = text.startsWith('{') ? JSON.parse(text) : text;
      return { status: reply.status, headers: reply.headers, body };
    },
    async signInClient(person, { clientId, scope, ...choice } = {}) {
      const client = clientId ?? (await world.register());
      const { url: start, verifier } = authorization(url, {
        client_id: client,
        ...(scope === undefined ? {} : { scope }),
      });
      const answer = await person.browser.authorize(start, choice);
      const reply = await world.post('/oauth/token', {
        grant_type: 'authorization_code',
        client_id: client,
        redirect_uri: redirectUri,
        code: answer.searchParams.get('code') ?? '',
        code_verifier: verifier,
      });
      if (reply.status !== 200) throw new Error(`${reply.status} ${JSON.stringify(reply.body)}`);
      return { ...reply.body, clientId: client };
    },
  };
  const running = startup.move();
  return { ...world, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

async function createPerson(
  db: Database,
  url: string,
  {
    name = 'ann',
    role = 'member',
    orgId = uuidv7(),
  }: { name?: string; role?: Role; orgId?: string } = {},
): Promise<SignedIn> {
  const id = uuidv7();
  const sessionToken = formatSessionToken(randomBytes(32));
  await insertOrg(db, { id: orgId, name: `org-${orgId}` }).catch((error: { code?: string }) => {
    if (error.code !== '23505') throw error;
  });
  await insertUser(db, { orgId, id, name, role });
  const session = { id: uuidv7(), orgId, identityId: id, ip: null, userAgent: null };
  await insertSession(db, { ...session, hash: hashOf(sessionToken) });
  const cookie = `gateway_session=${sessionToken}`;
  const browser = openBrowser(url, { cookie });
  return { id, orgId, sessionToken, browser, ...createCaller(url, { cookie, origin: url }) };
}

/** Gives each connection to the next replica, as a load balancer in front of auth does. */
async function balance(targets: readonly string[]): Promise<AsyncDisposable & { url: string }> {
  let turn = 0;
  const server = createServer((socket) => {
    const target = new URL(targets[turn % targets.length] ?? '');
    turn += 1;
    const upstream = connect(Number(target.port), target.hostname);
    socket.pipe(upstream).pipe(socket);
    for (const each of [socket, upstream]) {
      each.on('error', () => {
        socket.destroy();
        upstream.destroy();
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
