import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { openOwnDatabase } from '#database';
import { provisionDatabase, schemaOwners } from '../../provision.ts';
import { describeDatabaseFailure } from '../../services-src/process/database-failure.ts';
import { needs } from '../support/needs.ts';
import { startPgbouncer } from '../support/pgbouncer.ts';
import type { Pgbouncer } from '../support/pgbouncer.ts';
import { playStoryOnServers } from '../support/story-on-servers.ts';

const program = needs('pgbouncer');
const database = 'behind_pgbouncer';
const password = 'CANARY-role-password';

describe.skipIf(!program.isAvailable)(
  `PgBouncer in transaction mode${program.note}`,
  { timeout: 300_000 },
  () => {
    const stack = new AsyncDisposableStack();
    let pgbouncer: Pgbouncer;

    beforeAll(async () => {
      const serverUrl = inject('adminUrl');
      await administer(serverUrl, `create database ${database}`);
      stack.defer(() => administer(serverUrl, `drop database ${database} with (force)`));
      const { username, password: adminPassword } = new URL(serverUrl);
      pgbouncer = stack.use(
        await startPgbouncer({
          databaseUrl: serverUrl.replace('/postgres?', `/${database}?`),
          passwords: {
            [username]: decodeURIComponent(adminPassword),
            ...Object.fromEntries(schemaOwners.map((user) => [user, password])),
          },
        }),
      );
      const roles = Object.fromEntries(schemaOwners.map((user) => [user, { user, password }]));
      const adminUrl = pgbouncer.urlFor(username);
      // The second migration finds nothing to do.
      await provisionDatabase({ adminUrl, roles });
      await provisionDatabase({ adminUrl, roles });
    });
    afterAll(() => stack.disposeAsync());

    const open = (user: string, pooler: 'on' | 'off') =>
      openOwnDatabase(
        {
          DATABASE_URL: pgbouncer.urlFor(user),
          DATABASE_CONNECTIONS_MAX: 6,
          DATABASE_POOLER: pooler,
          SERVERS_CA_FILE: undefined,
        },
        { schema: 'auth' },
      );

    test('refuses a component without DATABASE_POOLER=on; the error names this setting', async () => {
      const failure = await open('auth', 'off').catch((error: unknown) => error);

      expect(describeDatabaseFailure(failure)).toMatch(
        /unsupported startup parameter: .*set DATABASE_POOLER=on/,
      );
    });

    test('is not used for a role without its session settings; the error contains the SQL that stores them', async () => {
      const { username } = new URL(inject('adminUrl'));

      await expect(open(username, 'on')).rejects.toThrow(
        `alter role ${username} in database ${database} set search_path = 'auth'; ` +
          `alter role ${username} in database ${database} set statement_timeout = '10000'`,
      );
    });

    test('keeps the time limit for the statements of a component', async () => {
      await using db = await open('auth', 'on');

      await expect(db`select pg_sleep(60)`).rejects.toMatchObject({ code: '57014' });
    });

    test('serves migrations, every scene of the demonstration, and more callers than it has sessions', async () => {
      const variables = schemaOwners.map((user) => [
        `${user.toUpperCase()}_DATABASE_URL`,
        pgbouncer.urlFor(user),
      ]);
      await using story = await playStoryOnServers({
        ...Object.fromEntries(variables),
        DATABASE_URL: pgbouncer.urlFor(new URL(inject('adminUrl')).username),
        DATABASE_POOLER: 'on',
      });
      const replies = await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          index % 2 === 0
            ? story.bot.post('/v1/actions/call', {
                service: 'github',
                action: 'list_issues',
                params: { repository: 'acme/site', state: 'open' },
              })
            : story.user.get('/v1/audit'),
        ),
      );

      expect(story.steps.length).toBeGreaterThan(10);
      expect([...new Set(replies.map(({ status }) => status))]).toEqual([200]);
    });
  },
);

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statement);
  await client.end();
}
