import { createHash, randomBytes } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';

import { loadConfig } from '#config';
import type { Role } from '#contracts/vocabulary';
import { openDatabase } from '#database';
import type { Database } from '#database';
import { authConfig } from '../../auth/config.ts';
import { hashToken } from '../../auth/credentials/domain/checked-token.ts';
import { formatSessionToken } from '../../auth/credentials/domain/session-token.ts';
import { insertUser } from '../../auth/identities/identities.sql.ts';
import { insertOrg } from '../../auth/orgs/orgs.sql.ts';
import { insertSession } from '../../auth/sessions/sessions.sql.ts';
import { startAuth } from '../../auth/start.ts';
import type { RunningAuth } from '../../auth/start.ts';
import { gatewayConfig } from '../../gateway/config.ts';
import { startGateway } from '../../gateway/start.ts';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { startBalancer } from './balancer.ts';
import { createTestEnvironment } from './environment.ts';
import type { TestEnvironment } from './environment.ts';
import { createCaller } from './http.ts';
import type { Caller, Reply } from './http.ts';
import { openBrowser } from './oauth-browser.ts';
import type { OauthBrowser } from './oauth-browser.ts';

/** A signed-in person. */
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

/**
 * The authorization server as OAuth clients reach it: through gateways, which send the requests to
 * several replicas of auth.
 */
export interface OauthWorld extends AsyncDisposable {
  readonly environment: TestEnvironment;
  readonly db: Database;
  /** The public URL of the deployment. It is the URL of the first gateway, and also the issuer. */
  readonly url: string;
  /** The URLs of all gateways, including the first. */
  readonly urls: readonly string[];
  readonly replicas: readonly RunningAuth[];
  person(fields?: { name?: string; role?: Role; orgId?: string }): Promise<SignedIn>;
  /** Registers a client and returns its id. */
  register(metadata?: Record<string, unknown>): Promise<string>;
  /** Posts a form as an OAuth client does. */
  post(path: string, form: Record<string, string>, at?: string): Promise<Reply>;
  /**
   * Runs the whole sign-in of a client: opens the authorization URL, gives consent, and gets the
   * tokens.
   */
  signInClient(person: SignedIn, options?: SignInOptions): Promise<Tokens & { clientId: string }>;
}

interface SignInOptions {
  readonly clientId?: string;
  readonly scope?: string;
  readonly agent?: string;
  readonly name?: string;
}

export const redirectUri = 'http://127.0.0.1:33418/callback';

/**
 * Creates a client's authorization request, and the code verifier that the client needs later for
 * its token request (RFC 7636).
 */
export function createAuthorizationRequest(
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
  const port = await lastingPort();
  const variables = {
    ...environment.variables,
    BASE_URL: `http://127.0.0.1:${port}`,
    RATE_SIGN_IN_PER_MINUTE: '0',
    RATE_IDENTITY_PER_MINUTE: '0',
    RATE_USER_PER_MINUTE: '0',
    RATE_REGISTER_PER_HOUR: '0',
    RATE_PUBLIC_PER_MINUTE: '0',
    // Without a grace period, a refresh token that is used again is refused at once. Most tests are
    // about such a use, and not about a client that lost an answer.
    REFRESH_REUSE_GRACE_SECONDS: '0',
    ...settings,
  };
  const authSettings = loadConfig(authConfig, variables);
  const db = startup.use(
    openDatabase({ url: authSettings.DATABASE_URL, schema: 'auth', connectionsMax: 4 }),
  );
  const balancer = startup.use(await startBalancer());
  const replicas: RunningAuth[] = [];
  for (let n = 0; n < authReplicas; n += 1) {
    const replica = startup.use(await startAuth(authSettings));
    replicas.push(replica);
    await balancer.add({ port: Number(new URL(replica.oauthUrl).port) });
  }
  const urls: string[] = [];
  for (let n = 0; n < gateways; n += 1) {
    const ownPort = n === 0 ? port : await lastingPort();
    const oauthSettings = { OAUTH_URL: balancer.url, PORT: String(ownPort) };
    startup.use(await startGateway(loadConfig(gatewayConfig, { ...variables, ...oauthSettings })));
    urls.push(`http://127.0.0.1:${ownPort}`);
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
      const { url: start, verifier } = createAuthorizationRequest(url, {
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
  await insertSession(db, { ...session, hash: hashToken(sessionToken) });
  const cookie = `gateway_session=${sessionToken}`;
  const browser = openBrowser(url, { cookie });
  return { id, orgId, sessionToken, browser, ...createCaller(url, { cookie, origin: url }) };
}
