import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import pg from 'pg';
import { pino } from 'pino';

import { components } from '#contracts/vocabulary';
import { interpolate, readComposeFile } from '../../deploy/compose-file.ts';
import { makeComposeSecrets } from '../../deploy/compose-secrets.ts';
import { lastingPort, startPostgres } from '../../services-src/embedded/index.ts';
import { findNatsServer } from '../../services-src/embedded/nats-binary.ts';
import { startServerProcess } from '../../services-src/embedded/server-process.ts';
import { startGithubMock } from '../story/github-mock.ts';
import { playStory } from '../story/play.ts';
import { startReceiver } from '../story/receiver.ts';
import { startHaproxy } from '../support/haproxy.ts';
import { needs } from '../support/needs.ts';
import { programEnv } from '../support/program-env.ts';

const root = new URL('../../', import.meta.url);
const haproxy = needs('haproxy');

/**
 * Runs the commands and settings of docker-compose.yml as local processes, without Docker. The test
 * replaces only addresses and the folder of the secrets. Postgres has the roles of the compose
 * file. NATS and the load balancer use the configuration files that the compose file mounts. With
 * HAProxy, two gateways run behind the balancer; without HAProxy, there is only one gateway.
 */
describe('docker-compose.yml', () => {
  const stack = new AsyncDisposableStack();
  const logs: string[] = [];
  const variables: Record<string, string> = {};
  const { services } = readComposeFile();
  /**
   * The port and the health port of each gateway behind the balancer. Empty if there is only one
   * gateway.
   */
  const gateways: Record<string, string>[] = [];
  let secretsDir: string;
  let rewriteAddresses: (value: string) => string;

  beforeAll(async () => {
    const logger = pino({ level: 'error' });
    const dataDir = await mkdtemp(join(tmpdir(), 'aag-compose-'));
    stack.defer(() => rm(dataDir, { recursive: true, force: true }));
    secretsDir = join(dataDir, 'secrets');
    await mkdir(secretsDir);
    const secrets = makeComposeSecrets(components, () => randomBytes(32));
    await writeSecrets(secrets);
    const postgres = stack.use(await startPostgres({ dataDir, logger, durable: false }));
    const natsUrl = await startNats(join(dataDir, 'streams'));

    await createOwner(postgres.adminUrl, secrets['POSTGRES_PASSWORD'] ?? '');
    const socket = new URL(postgres.adminUrl).search;
    rewriteAddresses = (value) =>
      value
        .replace('/run/secrets', secretsDir)
        .replace('http://auth:', 'http://127.0.0.1:')
        .replace(/^gateway$/, '127.0.0.1')
        .replace('172.31.255.2', '127.0.0.1')
        .replace('@nats:4222', `@${natsUrl.replace('nats://', '')}`)
        .replace(/@postgres:5432\/(\w+)/, `@localhost/$1${socket}`);
    await writeSecrets(
      Object.fromEntries(
        Object.entries(secrets).map(([name, value]) => [name, rewriteAddresses(value)]),
      ),
    );
  });
  afterAll(() => stack.disposeAsync());

  async function writeSecrets(secrets: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, value] of Object.entries(secrets)) {
      await writeFile(join(secretsDir, name), `${value}\n`);
    }
  }

  /** Starts NATS as the compose file does, on loopback; returns its URL. */
  async function startNats(storeDir: string): Promise<string> {
    const { entrypoint, command = [], environment = {}, volumes = [] } = services['nats'] ?? {};
    expect(volumes).toContain('./deploy/nats.conf:/etc/nats/nats.conf:ro');
    expect(volumes).toContain(`nats:${environment['NATS_STORE_DIR']}`);
    const natsConfigPath = fileURLToPath(new URL('deploy/nats.conf', root));
    const [program = '', ...args] = [...(entrypoint ?? []), ...command].map((each) =>
      interpolate(each, {})
        .replace('/etc/nats/nats.conf', natsConfigPath)
        .replace('/run/secrets', secretsDir),
    );
    const natsServer = await findNatsServer({
      environment: process.env,
      logger: pino({ level: 'silent' }),
    });
    const programsDir = `${storeDir}-program`;
    await mkdir(programsDir);
    await symlink(natsServer, join(programsDir, 'nats-server'));
    let address: string | undefined;
    const server = await startServerProcess({
      name: 'NATS',
      command: program,
      args: [...args, '--addr', '127.0.0.1', '--port', '-1', '--http_port', '-1'],
      env: {
        PATH: `${programsDir}:${programEnv['PATH'] ?? ''}`,
        NATS_STORE_DIR: storeDir,
      },
      readyTimeoutMs: 30_000,
      stopSteps: [{ signal: 'SIGTERM', waitMs: 10_000 }],
      onLine: (line) => {
        address = /Listening for client connections on (\S+)/.exec(line)?.[1] ?? address;
        return line.includes('Server is ready');
      },
    });
    stack.defer(() => server.stop());
    return `nats://${address}`;
  }

  function startService(name: string, changes: Record<string, string> = {}): ChildProcess {
    const { command = [], environment = {} } = services[name] ?? {};
    const [program, ...args] = command;
    if (program !== 'node') throw new Error(`${name} does not run node`);
    const settings = Object.entries(environment).map(([key, value]) => [
      key,
      rewriteAddresses(interpolate(String(value), variables)),
    ]);
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...programEnv, ...Object.fromEntries(settings), ...changes },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => logs.push(`${name}: ${chunk.toString()}`));
    }
    return child;
  }

  /** Starts a component. At the end of the test it is told to stop, and must then exit with 0. */
  function startUntilEnd(name: string, changes?: Record<string, string>): void {
    const child = startService(name, changes);
    stack.defer(async () => {
      const childExit = once(child, 'exit');
      child.kill('SIGTERM');
      const [exitCode] = await childExit;
      expect({ name, exitCode }).toEqual({ name, exitCode: 0 });
    });
  }

  async function startGateways(): Promise<void> {
    if (!haproxy.isAvailable) return startUntilEnd('gateway');
    for (let index = 0; index < 2; index += 1) {
      const ports = {
        PORT: String(await lastingPort()),
        HEALTH_PORT: String(await lastingPort()),
      };
      gateways.push(ports);
      startUntilEnd('gateway', ports);
    }
    const { PORT = '' } = variables;
    const servers = gateways.map((ports) => `127.0.0.1:${ports['PORT']}`);
    stack.use(await startHaproxy({ port: Number(PORT), servers }));
  }

  test(
    `starts gateways that play every scene of the demonstration, with the commands and settings of the file${haproxy.note}`,
    { timeout: 300_000 },
    async () => {
      const github = stack.use(await startGithubMock());
      const receiver = stack.use(await startReceiver());
      variables['EGRESS_ALLOW'] = [github.url, receiver.url].map((url) => new URL(url).host).join();
      variables['PORT'] = String(await lastingPort());
      variables['SHUTDOWN_PAUSE_SECONDS'] = '0';
      variables['TEMPLATES_DIR'] = '';

      const [code] = await once(startService('migrate'), 'exit');
      expect({ code, logs: code === 0 ? [] : logs }).toEqual({ code: 0, logs: [] });
      for (const name of components) if (name !== 'gateway') startUntilEnd(name);
      await startGateways();
      const signInUrl = await waitForLink();
      const steps: string[] = [];
      await playStory({ signInUrl, github, receiver, say: (line) => steps.push(line) });

      expect(steps.length).toBeGreaterThan(10);
      const { origin } = new URL(signInUrl);
      const metadataReply = await fetch(`${origin}/.well-known/oauth-authorization-server`);
      expect(await metadataReply.json()).toMatchObject({ issuer: origin });
      expect(logs.filter((line) => line.includes('CANARY-'))).toEqual([]);
    },
  );

  /** Runs the health checks of the compose file, and tells whether all of them succeed. */
  async function areHealthy(gatewayUrl: string): Promise<boolean> {
    const ports = Object.entries(services).flatMap(([name, { environment }]) =>
      name === 'gateway' && gateways.length > 0
        ? gateways.map((each) => each['HEALTH_PORT'])
        : (environment?.['HEALTH_PORT'] ?? []),
    );
    const urls = [gatewayUrl, ...ports.map((port) => `http://127.0.0.1:${port}`)];
    const answers = await Promise.all(urls.map(isUp));
    return answers.every(Boolean);
  }

  async function waitForLink(): Promise<string> {
    for (let round = 0; round < 1_000; round += 1) {
      const link = /Sign in: (\S+)/.exec(logs.join(''))?.[1];
      if (link !== undefined && (await areHealthy(new URL(link).origin))) return link;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(
      `no sign-in link, or a component that is not healthy, within 100 s:\n${logs.join('')}`,
    );
  }
});

async function isUp(origin: string): Promise<boolean> {
  return fetch(`${origin}/health/ready`).then(
    (reply) => reply.ok,
    () => false,
  );
}

/**
 * Creates the role and the database that the postgres image creates from POSTGRES_USER,
 * POSTGRES_PASSWORD and POSTGRES_DB.
 */
async function createOwner(adminUrl: string, password: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  await client.query(`create role owner superuser login password '${password}'`);
  await client.query('create database gateway owner owner');
  await client.end();
}
