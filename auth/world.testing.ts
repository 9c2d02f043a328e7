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
import { hashToken } from './credentials/domain/checked-token.ts';
import { formatSessionToken } from './credentials/domain/session-token.ts';
import { insertUser } from './identities/identities.sql.ts';
import { insertOrg } from './orgs/orgs.sql.ts';
import { insertSession } from './sessions/sessions.sql.ts';
import { startAuth } from './start.ts';
import type { RunningAuth } from './start.ts';

export const testDeadline = () => deadlineIn(10_000);
export const context: CallContext = { requestId: 'req-1', traceId: null, ip: '127.0.0.1' };

/** An identity with the credential that a test uses to act as it. */
export interface Person {
  readonly id: string;
  readonly orgId: string;
  readonly token: string;
  readonly principal: string;
  readonly claims: Principal;
}

export interface AuthWorld extends AsyncDisposable {
  readonly environment: TestEnvironment;
  readonly runningAuth: RunningAuth;
  readonly db: Database;
  /** A client with the NATS permissions of the gateway, and one with those of approvals. */
  readonly client: Client<typeof auth>;
  readonly approvalsClient: Client<typeof auth>;
  startReplica(): Promise<RunningAuth>;
  /** Creates a user with an open session, in a new org unless one is given. */
  user(fields: { name: string; role: Role; orgId?: string }): Promise<Person>;
  /** Returns the person with a new principal, which is valid for ten seconds. */
  renew(person: Person): Promise<Person>;
  /** Creates a key for an identity. */
  withKey(creator: Person, identity: Identity): Promise<Person>;
  agent(owner: Person, name: string): Promise<Person>;
  subagent(creator: Person, name: string, parentId?: string): Promise<Person>;
}

/** Starts an auth component with its own database and NATS account, and clients to call it. */
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
    const { principal, claims } = await client.authenticate({ kind, token }, testDeadline());
    return { id: claims.identityId, orgId: claims.orgId, token, principal, claims };
  };
  const createPersonWithKey = async (creator: Person, identity: Identity): Promise<Person> => {
    const { key } = await client.createAgentKey(
      { principal: creator.principal, id: identity.id, body: { name: 'first' }, context },
      testDeadline(),
    );
    return person('bearer', key);
  };

  const stack = startup.move();
  return {
    environment,
    runningAuth: running,
    db,
    client,
    approvalsClient: approvals,
    startReplica: async () => stack.use(await startAuth(config)),
    async user({ name, role, orgId = uuidv7() }) {
      const id = uuidv7();
      const token = formatSessionToken(randomBytes(32));
      await insertOrg(db, { id: orgId, name: `org-${orgId}` }).catch((error: { code?: string }) => {
        if (error.code !== '23505') throw error;
      });
      await insertUser(db, { orgId, id, name, role });
      const session = { id: uuidv7(), orgId, identityId: id, ip: null, userAgent: null };
      await insertSession(db, { ...session, hash: hashToken(token) });
      return person('session', token);
    },
    renew: ({ token }) => person(token.startsWith('ses_') ? 'session' : 'bearer', token),
    withKey: createPersonWithKey,
    async agent(owner, name) {
      const request = { principal: owner.principal, body: { name }, context };
      return createPersonWithKey(owner, await client.createAgent(request, testDeadline()));
    },
    async subagent(creator, name, parentId) {
      const body = parentId === undefined ? { name } : { name, parent_id: parentId };
      const request = { principal: creator.principal, body, context };
      return createPersonWithKey(creator, await client.createSubagent(request, testDeadline()));
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
