import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import pg from 'pg';
import { pino } from 'pino';
import { parse } from 'yaml';

import { components } from '#contracts/vocabulary';
import { composeSecrets } from '../../deploy/compose-secrets.ts';
import { startNats, startPostgres } from '../../services-src/embedded/index.ts';
import { startGithubMock } from '../story/github-mock.ts';
import { playStory } from '../story/play.ts';
import { startReceiver } from '../story/receiver.ts';

interface ComposeService {
  command?: string[];
  environment?: Record<string, string | number>;
}

const root = new URL('../../', import.meta.url);

/**
 * docker-compose.yml without Docker: its command lines and settings as local processes. Only
 * the addresses of the two servers are replaced by those of local ones, which run with the
 * compose file's own nats.conf accounts and Postgres roles.
 */
describe('docker-compose.yml', () => {
  const stack = new AsyncDisposableStack();
  const logs: string[] = [];
  const variables: Record<string, string> = composeSecrets(components, () => randomBytes(32));
  let services: Record<string, ComposeService>;
  let rewrite: (value: string) => string;

  beforeAll(async () => {
    const logger = pino({ level: 'error' });
    const dataDir = await mkdtemp(join(tmpdir(), 'aag-compose-'));
    stack.defer(() => rm(dataDir, { recursive: true, force: true }));
    const postgres = stack.use(await startPostgres({ dataDir, logger, durable: false }));
    const natsConf = await readFile(new URL('deploy/nats.conf', root), 'utf8');
    const accounts = natsConf
      .slice(natsConf.indexOf('accounts {'))
      .replaceAll(/\$(NATS_PASSWORD_[A-Z]+)/g, (_, name: string) => variables[name] ?? '');
    const nats = stack.use(await startNats({ dataDir, logger, config: accounts }));

    await createOwner(postgres.adminUrl, variables['POSTGRES_PASSWORD'] ?? '');
    const socket = new URL(postgres.adminUrl).search;
    rewrite = (value) =>
      value
        .replace('http://auth:', 'http://127.0.0.1:')
        .replace(/^gateway$/, '127.0.0.1')
        .replace('@nats:4222', `@${nats.url.replace('nats://', '')}`)
        .replace(/@postgres:5432\/(\w+)/, `@localhost/$1${socket}`);

    const compose = parse(await readFile(new URL('docker-compose.yml', root), 'utf8'), {
      merge: true,
    }) as { services: Record<string, ComposeService> };
    services = compose.services;
  });
  afterAll(() => stack.disposeAsync());

  function start(name: string): ChildProcess {
    const { command = [], environment = {} } = services[name] ?? {};
    const [program, ...args] = command;
    if (program !== 'node') throw new Error(`${name} does not run node`);
    const settings = Object.entries(environment).map(([key, value]) => [
      key,
      rewrite(interpolate(String(value), variables)),
    ]);
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { PATH: process.env['PATH'], ...Object.fromEntries(settings) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => logs.push(`${name}: ${chunk.toString()}`));
    }
    return child;
  }

  test('its commands and settings play the whole story', { timeout: 120_000 }, async () => {
    const github = stack.use(await startGithubMock());
    const receiver = stack.use(await startReceiver());
    variables['EGRESS_ALLOW'] = [github.url, receiver.url].map((url) => new URL(url).host).join();
    variables['PORT'] = String(await freePort());

    const [code] = await once(start('migrate'), 'exit');
    expect({ code, logs: code === 0 ? [] : logs }).toEqual({ code: 0, logs: [] });
    for (const name of components) {
      const child = start(name);
      stack.defer(async () => {
        const ended = once(child, 'exit');
        child.kill('SIGTERM');
        const [exitCode] = await ended;
        expect({ name, exitCode }).toEqual({ name, exitCode: 0 });
      });
    }
    const signInUrl = await waitForLink();
    const steps: string[] = [];
    await playStory({ signInUrl, github, receiver, say: (line) => steps.push(line) });

    expect(steps.length).toBeGreaterThan(10);
    const { origin } = new URL(signInUrl);
    const described = await fetch(`${origin}/.well-known/oauth-authorization-server`);
    expect(await described.json()).toMatchObject({ issuer: origin });
    expect(logs.filter((line) => line.includes('CANARY-'))).toEqual([]);
  });

  /** The health checks of the compose file. */
  async function areHealthy(gatewayUrl: string): Promise<boolean> {
    const ports = Object.values(services).flatMap(
      ({ environment }) => environment?.['HEALTH_PORT'] ?? [],
    );
    const urls = [gatewayUrl, ...ports.map((port) => `http://127.0.0.1:${port}`)];
    const answers = await Promise.all(urls.map(isUp));
    return answers.every(Boolean);
  }

  async function waitForLink(): Promise<string> {
    for (let round = 0; round < 300; round += 1) {
      const link = /Sign in: (\S+)/.exec(logs.join(''))?.[1];
      if (link !== undefined && (await areHealthy(new URL(link).origin))) return link;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(
      `no sign-in link, or a component that is not healthy, within 30 s:\n${logs.join('')}`,
    );
  }
});

/** `${NAME}`, `${NAME:-default}` and `${NAME:?message}`, as docker compose reads them. */
function interpolate(value: string, variables: Record<string, string>): string {
  return value.replaceAll(
    /\$\{([A-Z_]+)(?::([-?])((?:[^{}]|\$\{[^{}]*\})*))?\}/g,
    (_, name: string, operator: string | undefined, rest: string | undefined) => {
      const found = variables[name];
      if (found !== undefined && found !== '') return found;
      if (operator === '?') throw new Error(`${name}: ${rest}`);
      return operator === '-' ? interpolate(rest ?? '', variables) : '';
    },
  );
}

async function isUp(origin: string): Promise<boolean> {
  return fetch(`${origin}/health/ready`).then(
    (reply) => reply.ok,
    () => false,
  );
}

/** What the postgres image does with POSTGRES_USER, POSTGRES_PASSWORD and POSTGRES_DB. */
async function createOwner(adminUrl: string, password: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  await client.query(`create role owner superuser login password '${password}'`);
  await client.query('create database gateway owner owner');
  await client.end();
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
