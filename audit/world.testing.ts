import { randomUUID } from 'node:crypto';

import { jetstream } from '@nats-io/jetstream';
import type { JetStreamClient } from '@nats-io/jetstream';

import { createClient, deadlineIn } from '#bus';
import type { Client } from '#bus';
import { loadConfig } from '#config';
import { blankAuditEntry } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import { audit } from '#contracts/bus/audit';
import { ownerOf, recordSubjectOf } from '#contracts/events';
import type { Event } from '#contracts/events';
import { components } from '#contracts/vocabulary';
import type { Component, Principal, Role } from '#contracts/vocabulary';
import { openDatabase } from '#database';
import type { Database } from '#database';
import { createEvent } from '#events';
import { createSigner } from '#signing';
import { createLogger } from '#telemetry';
import type { Logger } from '#telemetry';
import { createTestEnvironment } from '../test/support/environment.ts';
import type { TestEnvironment } from '../test/support/environment.ts';
import { auditConfig } from './config.ts';
import { startAudit } from './start.ts';

export const testDeadline = () => deadlineIn(20_000);
export const firstPage = { limit: 200, cursor: null };

export interface AuditWorld extends AsyncDisposable {
  readonly environment: TestEnvironment;
  readonly client: Client<typeof audit>;
  /**
   * `db` connects as the component's own role, `superuser` as a superuser that can tamper with
   * records.
   */
  readonly db: Database;
  readonly superuser: Database;
  /** The dependencies of `recordEvents`. */
  readonly recorder: { readonly db: Database; readonly logger: Logger };
  startReplica(): Promise<AsyncDisposable>;
  principal(fields: { orgId: string; role: Role | null; userId?: string }): string;
  /** Publishes without a message id, so that JetStream accepts the same event twice. */
  publish(events: readonly Event[]): Promise<void>;
  countRecords(orgId: string): Promise<number>;
}

/** Builds an event with an audit entry for the org `orgId`. */
export function eventOf(orgId: string, entry: Partial<AuditEntry> = {}): Event {
  return createEvent({
    type: 'action.outcome',
    orgId,
    audience: [],
    data: {},
    audit: { ...blankAuditEntry('Something happened.'), ...entry },
  });
}

export async function createAuditWorld(): Promise<AuditWorld> {
  await using startup = new AsyncDisposableStack();
  const environment = startup.use(await createTestEnvironment());
  const config = loadConfig(auditConfig, environment.variables);
  const openDatabaseAt = (url: string) =>
    startup.use(openDatabase({ url, schema: 'audit', connectionsMax: 2 }));
  const db = openDatabaseAt(config.DATABASE_URL);
  const superuser = openDatabaseAt(environment.adminUrl);
  startup.use(await startAudit(config));
  const client = createClient(await environment.connect('gateway'), audit);
  const streams = new Map<Component, JetStreamClient>();
  for (const component of components) {
    streams.set(component, jetstream((await environment.connect(component)).nats));
  }
  const signer = createSigner<Principal>('principal', ...environment.keys.principal);

  const stack = startup.move();
  return {
    environment,
    client,
    db,
    superuser,
    recorder: { db, logger: createLogger({ component: 'test', level: 'silent' }) },
    startReplica: async () => stack.use(await startAudit(config)),
    principal({ orgId, role, userId = randomUUID() }) {
      const kind = role === null ? 'agent' : 'user';
      return signer.sign({
        orgId,
        identityId: userId,
        kind,
        userId,
        role,
        chain: [{ id: userId, kind, name: 'someone', inheritPermissions: false }],
        autoCallOnApprove: true,
        credential: { kind: 'session', id: randomUUID(), clientId: null },
        scopes: ['user'],
        expiresAt: Date.now() + 10_000,
      });
    },
    async publish(events) {
      await Promise.all(
        events.map(async (event) => {
          const owner = ownerOf(event.type);
          await streams
            .get(owner)
            ?.publish(recordSubjectOf(owner, event.type), JSON.stringify(event));
        }),
      );
    },
    async countRecords(orgId) {
      const [row] = await db<{ n: number }[]>`
        select count(*)::integer as n
          from audit.record
         where org_id = ${orgId}
      `;
      return row?.n ?? 0;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
