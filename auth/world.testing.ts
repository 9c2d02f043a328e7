import { randomBytes } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';

import { createClient, deadlineIn } from '#bus';
import type { Client } from '#bus';
import { loadConfig } from '#config';
import { auth } from '#contracts/bus/auth';
import type { Identity } from '#contracts/http/identities';
import type { CallContext, Principal, Role } from '#contracts/vocabulary';
import { openDatabase } from '#database';
import type { Database } from '#database';
import { createTestEnvironment } from '../test/support/environment.ts';
import type { TestEnvironment } from '../test/support/environment.ts';
import { authConfig } from './config.ts';
import { hashOf } from './domain/checked-token.ts';
import { formatSessionToken } from './domain/dashboard-session.ts';
import { insertUser } from './repository/identities.ts';
import { insertOrg } from './repository/orgs.ts';
import { insertSession } from './repository/sessions.ts';
import { startAuth } from './start.ts';
import type { RunningAuth } from './start.ts';

export const soon = () => deadlineIn(10_000);
export const context: CallContext = { requestId: 'req-1', traceId: null, ip: '127.0.0.1' };

/** Somebody with a credential: what a test acts as. */
export interface Person {
  readonly id: string;
  readonly orgId: string;
  readonly token: string;
  readonly principal: string;
  readonly claims: Principal;
}

export interface AuthWorld extends AsyncDisposable {
  readonly environment: TestEnvironment;
  readonly running: RunningAuth;
  readonly db: Database;
  /** Logged in as the gateway, and as approvals for what only components may ask. */
  readonly client: Client<typeof auth>;
  readonly approvals: Client<typeof auth>;
  startReplica(): Promise<RunningAuth>;
  /** A user with an open session; in a new org when none is named. */
  user(fields: { name: string; role: Role; orgId?: string }): Promise<Person>;
  /** The same person with a principal that is good for ten more seconds. */
  renew(person: Person): Promise<Person>;
  /** The created identity with a key of its own. */
  withKey(creator: Person, identity: Identity): Promise<Person>;
  agent(owner: Person, name: string): Promise<Person>;
  subagent(creator: Person, name: string, parentId?: string): Promise<Person>;
}

/** A running auth component on its own Postgres and NATS, called like the gateway calls it. */
export async function createAuthWorld(settings: Record<string, string> = {}): Promise<AuthWorld> {
  await using startup = new AsyncDisposableStack();
  const environment = startup.use(await createTestEnvironment());
  const config = loadConfig(authConfig, { ...environment.variables, ...settings });
  const db = startup.use(
    openDatabase({ url: config.DATABASE_URL, schema: 'auth', connectionsMax: 4 }),
  );
  const running = startup.use(await startAuth(config));
  const client = createClient(await environment.connect('gateway'), auth);
  const approvals = createClient(await environment.connect('approvals'), auth);

  const person = async (kind: 'bearer' | 'session', token: string): Promise<Person> => {
    const { principal, claims } = await client.authenticate({ kind, token }, soon());
    return { id: claims.identityId, orgId: claims.orgId, token, principal, claims };
  };
  const withKey = async (creator: Person, identity: Identity): Promise<Person> => {
    const { key } = await client.createAgentKey(
      { principal: creator.principal, id: identity.id, body: { name: 'first' }, context },
      soon(),
    );
    return person('bearer', key);
  };

  const stack = startup.move();
  return {
    environment,
    running,
    db,
    client,
    approvals,
    startReplica: async () => stack.use(await startAuth(config)),
    async user({ name, role, orgId = uuidv7() }) {
      const id = uuidv7();
      const token = formatSessionToken(randomBytes(32));
      await insertOrg(db, { id: orgId, name: `org-${orgId}` }).catch((error: { code?: string }) => {
        if (error.code !== '23505') throw error;
      });
      await insertUser(db, { orgId, id, name, role });
      const session = { id: uuidv7(), orgId, identityId: id, ip: null, userAgent: null };
      await insertSession(db, { ...session, hash: hashOf(token) });
      return person('session', token);
    },
    renew: ({ token }) => person(token.startsWith('ses_') ? 'session' : 'bearer', token),
    withKey,
    async agent(owner, name) {
      const request = { principal: owner.principal, body: { name }, context };
      return withKey(owner, await client.createAgent(request, soon()));
    },
    async subagent(creator, name, parentId) {
      const body = parentId === undefined ? { name } : { name, parent_id: parentId };
      const request = { principal: creator.principal, body, context };
      return withKey(creator, await client.createSubagent(request, soon()));
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
