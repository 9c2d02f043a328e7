import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { connectBus, natsAccounts } from '#bus';
import { connectOwner, openOwnDatabase } from '#database';
import { lastingPort, startNats, startPostgres } from '../../services-src/embedded/index.ts';
import { describeDatabaseFailure } from '../../services-src/process/database-failure.ts';
import { writeCertificate } from '../support/certificate-files.ts';
import type { CertificateFiles } from '../support/certificate-files.ts';

const password = 'CANARY-server-password';
const logger = pino({ level: 'silent' });

/**
 * The certificates of these Postgres and NATS servers come from an authority that no system knows.
 */
describe('Postgres and NATS with a private certificate authority', { timeout: 300_000 }, () => {
  const stack = new AsyncDisposableStack();
  let folder: string;
  /** The file of the servers' authority, and the file of an authority that has signed nothing. */
  const files = { right: '', wrong: '' };
  const postgres = { password: '', port: 0, portWithoutTls: 0 };
  const nats = { port: 0, portWithoutTls: 0, portOfOther: 0 };
  let otherAuthority: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'aag-tls-'));
    stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    const server = stack.use(await writeCertificate('localhost'));
    const other = stack.use(await writeCertificate('nats.example.com'));
    otherAuthority = other.authority;
    files.right = server.authority;
    files.wrong = stack.use(await writeCertificate('localhost')).authority;

    postgres.port = await lastingPort();
    const adminUrl = await startPostgresAt('with-tls', postgres.port, [
      'ssl=on',
      `ssl_key_file=${server.key}`,
      `ssl_cert_file=${server.authority}`,
    ]);
    postgres.password = decodeURIComponent(new URL(adminUrl).password);
    postgres.portWithoutTls = await lastingPort();
    await startPostgresAt('without-tls', postgres.portWithoutTls, []);
    nats.port = await startNatsAt('nats-with-tls', server);
    nats.portOfOther = await startNatsAt('nats-of-other-name', other);
    nats.portWithoutTls = await startNatsAt('nats-without-tls');
  });
  afterAll(() => stack.disposeAsync());

  async function startPostgresAt(name: string, port: number, settings: readonly string[]) {
    const dataDir = join(folder, name);
    await mkdir(dataDir);
    const server = await startPostgres({
      dataDir,
      logger,
      durable: false,
      settings: ['listen_addresses=127.0.0.1', `port=${port}`, ...settings],
    });
    stack.use(server);
    return server.adminUrl;
  }

  async function startNatsAt(name: string, certificate?: CertificateFiles): Promise<number> {
    const dataDir = join(folder, name);
    await mkdir(dataDir);
    const port = await lastingPort();
    const tls = certificate
      ? `tls { cert_file: "${certificate.authority}", key_file: "${certificate.key}" }\n`
      : '';
    const config = `${tls}${natsAccounts(() => JSON.stringify(password))}`;
    stack.use(await startNats({ dataDir, logger, port, config }));
    return port;
  }

  const open = (url: string, caFile: string | undefined) =>
    openOwnDatabase(
      {
        DATABASE_URL: url,
        DATABASE_CONNECTIONS_MAX: 2,
        DATABASE_POOLER: 'off',
        SERVERS_CA_FILE: caFile,
      },
      { schema: 'public' },
    );
  const migrateAt = (url: string, caFile: string | undefined) =>
    connectOwner(caFile === undefined ? url : `${url}&sslrootcert=${caFile}`, { name: 'test' });
  const failureOf = async (work: Promise<AsyncDisposable>) =>
    work.then(
      async (opened) => {
        await opened[Symbol.asyncDispose]();
        return 'opened';
      },
      (error: unknown) => describeDatabaseFailure(error) ?? error,
    );

  describe.for([
    ['a component', open],
    ['migrate', migrateAt],
  ] as const)('Postgres, when %s connects', ([, openAt]) => {
    const at = ({ host = 'localhost', port = postgres.port } = {}) =>
      `postgres://postgres:${postgres.password}@${host}:${port}/postgres?sslmode=verify-full`;

    test('is used with the file of its authority', async () => {
      expect(await failureOf(openAt(at(), files.right))).toBe('opened');
    });

    test('is refused without the file of its authority, and with the file of another authority', async () => {
      for (const file of [undefined, files.wrong]) {
        expect(await failureOf(openAt(at(), file))).toMatch(
          /by TLS: .* name the PEM file of that authority in SERVERS_CA_FILE/,
        );
      }
    });

    test('is refused under a host name that is not in the certificate', async () => {
      expect(await failureOf(openAt(at({ host: '127.0.0.1' }), files.right))).toMatch(
        /127\.0\.0\.1.* write a name of the certificate into DATABASE_URL/,
      );
    });

    test('is refused if the server has no TLS', async () => {
      expect(await failureOf(openAt(at({ port: postgres.portWithoutTls }), files.right))).toMatch(
        /does not support SSL connections.* Turn TLS on at the server/,
      );
    });
  });

  const connectionTo = async (url: string, caFile?: string) => {
    try {
      await using _bus = await connectBus({ url, caFile, name: 'auth' });
      return 'opened';
    } catch (error) {
      return (error as Error).message;
    }
  };

  test('NATS is used without TLS beside a Postgres with an authority, if its URL says so', async () => {
    // The second host, which does not exist, is not on loopback, so the authority asks for TLS.
    const url = `nats://auth:${password}@localhost:${nats.portWithoutTls},nats.invalid:4222`;

    expect(await connectionTo(url, files.right)).toContain('does not let auth in');
    expect(await connectionTo(`${url}?tls=off`, files.right)).toBe('opened');
    for (const other of [`${url}?tls=on`, `${url.replace('nats:', 'tls:')}?tls=off`]) {
      expect(await connectionTo(other, files.right)).toContain('may end in ?tls=off');
    }
  });

  test('NATS is refused without its authority, with another authority, under another host name, and without TLS', async () => {
    const refusalOf = (port: number, caFile?: string) =>
      connectionTo(`tls://auth:${password}@localhost:${port}`, caFile);

    expect(await refusalOf(nats.port, files.right)).toBe('opened');
    for (const file of [undefined, files.wrong]) {
      expect(await refusalOf(nats.port, file)).toContain(
        'name the PEM file of that authority in SERVERS_CA_FILE',
      );
    }
    expect(await refusalOf(nats.portOfOther, otherAuthority)).toContain(
      'write a name of the certificate into NATS_URL',
    );
    expect(await refusalOf(nats.portWithoutTls, files.right)).toContain(
      'Turn TLS on at the server',
    );
  });
});
