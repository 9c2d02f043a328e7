import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { jetstreamManager } from '@nats-io/jetstream';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { connectBus, natsAccounts } from '#bus';
import { components } from '#contracts/vocabulary';
import { provisionBus, provisionDatabase, schemaOwners } from '../../provision.ts';
import { lastingPort, startNats, startPostgres } from '../../services-src/embedded/index.ts';
import type { EmbeddedNats } from '../../services-src/embedded/index.ts';
import { writeCertificate } from '../support/certificate-files.ts';
import { playStoryOnServers } from '../support/story-on-servers.ts';
import { smallStreams } from '../support/streams.ts';
import { pollUntil } from '../support/world.ts';

const password = 'CANARY-server-password';
const logger = pino({ level: 'silent' });
const nodes = [0, 1, 2] as const;

/** The servers have certificates of a private authority, and NATS has the generated accounts. */
describe(
  'a cluster of three NATS servers, and a Postgres, all with TLS',
  { timeout: 600_000 },
  () => {
    const stack = new AsyncDisposableStack();
    const ports: number[] = [];
    const routePorts: number[] = [];
    const running: EmbeddedNats[] = [];
    let folder: string;
    let certificate: { key: string; authority: string };
    let databaseUrl: (user: string, secret: string) => string;
    let ownerPassword: string;
    const natsUrl = (user: string) =>
      `tls://${user}:${password}@${ports.map((port) => `localhost:${port}`).join()}`;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'aag-cluster-'));
      stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
      certificate = stack.use(await writeCertificate('localhost'));
      const postgresPort = await lastingPort();
      const postgres = stack.use(
        await startPostgres({
          dataDir: folder,
          logger,
          durable: false,
          settings: [
            'listen_addresses=127.0.0.1',
            `port=${postgresPort}`,
            'ssl=on',
            `ssl_key_file=${certificate.key}`,
            `ssl_cert_file=${certificate.authority}`,
          ],
        }),
      );
      databaseUrl = (user, secret) =>
        `postgres://${user}:${secret}@localhost:${postgresPort}/postgres?sslmode=verify-full`;
      ownerPassword = decodeURIComponent(new URL(postgres.adminUrl).password);
      for (const node of nodes) {
        await mkdir(join(folder, `nats-${node}`));
        ports.push(await lastingPort());
        routePorts.push(await lastingPort());
      }
      stack.defer(async () => {
        for (const node of nodes) await running[node]?.[Symbol.asyncDispose]();
      });
      await Promise.all(nodes.map(startNode));
    });
    afterAll(() => stack.disposeAsync());

    async function startNode(node: number): Promise<void> {
      running[node] = await startNats({
        dataDir: join(folder, `nats-${node}`),
        logger,
        port: ports[node] ?? 0,
        config: `server_name: node-${node}
tls { cert_file: "${certificate.authority}", key_file: "${certificate.key}" }
cluster {
  name: test
  listen: "127.0.0.1:${routePorts[node]}"
  routes: [${routePorts.map((port) => `"nats://127.0.0.1:${port}"`).join()}]
}
${natsAccounts(() => JSON.stringify(password))}`,
      });
    }

    /** Tells whether every stream has its three copies, all of them up to date. */
    async function areCopiesCurrent(): Promise<boolean> {
      try {
        const server = { url: natsUrl('provision'), caFile: certificate.authority };
        await using bus = await connectBus({ ...server, name: 'provision' });
        const manager = await jetstreamManager(bus.nats);
        const streams = await manager.streams.list().next();
        return (
          streams.length === 3 &&
          streams.every(
            ({ cluster }) =>
              cluster?.leader !== undefined &&
              cluster.replicas?.length === 2 &&
              cluster.replicas.every(({ current, offline }) => current && !offline),
          )
        );
      } catch {
        return false;
      }
    }

    test('serve every scene of the demonstration, and every call while one NATS server is stopped and started again', async () => {
      const server = { natsUrl: natsUrl('provision'), caFile: certificate.authority };
      // A new cluster takes a while to choose its leader.
      await pollUntil(
        () => provisionBus({ ...server, ...smallStreams, replicas: 3 }).then(isTrue, isFalse),
        'the cluster has streams',
      );
      await provisionDatabase({
        adminUrl: `${databaseUrl('postgres', ownerPassword)}&sslrootcert=${certificate.authority}`,
        roles: Object.fromEntries(schemaOwners.map((user) => [user, { user, password }])),
      });
      const variables = [
        ...schemaOwners.map((user) => [`${user}_DATABASE_URL`, databaseUrl(user, password)]),
        ...[...components, 'provision'].map((user) => [`${user}_NATS_URL`, natsUrl(user)]),
      ].map(([name = '', value]) => [name.toUpperCase(), value]);
      await using story = await playStoryOnServers({
        ...Object.fromEntries(variables),
        DATABASE_URL: databaseUrl('postgres', ownerPassword),
        SERVERS_CA_FILE: certificate.authority,
        NATS_REPLICAS: '3',
        AUDIT_BYTES_MAX: String(smallStreams.auditBytesMax),
        EVENTS_BYTES_MAX: String(smallStreams.eventsBytesMax),
        CAP_FILES_BYTES: String(smallStreams.filesBytesMax),
      });
      expect(story.steps.length).toBeGreaterThan(10);
      await pollUntil(areCopiesCurrent, 'three copies of every stream');

      const load = startLoad(() =>
        story.bot.post('/v1/actions/call', {
          service: 'github',
          action: 'list_issues',
          params: { repository: 'acme/site', state: 'open' },
        }),
      );
      await load.served(5);
      await running[0]?.[Symbol.asyncDispose]();
      await load.served(20);
      await startNode(0);
      await pollUntil(areCopiesCurrent, 'three copies of every stream again');
      await load.served(5);

      expect(await load.stop()).toEqual([]);
    });
  },
);

const isTrue = () => true;
const isFalse = () => false;
const attemptsMax = 50;

interface Reply {
  readonly status: number;
  readonly body: { readonly error?: { readonly code: string } };
}

/**
 * Makes one call after the other. A call that ends as `unavailable` is repeated, as
 * docs/reference/errors.md#codes tells callers. Any other error is a failure.
 */
function startLoad(call: () => Promise<Reply>) {
  let servedCount = 0;
  let isStopping = false;
  const failures: unknown[] = [];
  const callUntilServed = async () => {
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
      const { status, body } = await call();
      if (status === 200) {
        servedCount += 1;
        return;
      }
      if (body.error?.code !== 'unavailable' || attempt === attemptsMax) {
        failures.push({ status, body });
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };
  const loop = (async () => {
    while (!isStopping) await callUntilServed();
  })();
  return {
    /** Resolves when this many further calls have been served. */
    async served(count: number): Promise<void> {
      const wanted = servedCount + count;
      await pollUntil(() => servedCount >= wanted || failures.length > 0, `${count} more calls`);
    },
    /** Stops the load, and returns the answers of the calls that failed. */
    async stop(): Promise<unknown[]> {
      isStopping = true;
      await loop;
      return failures;
    },
  };
}
