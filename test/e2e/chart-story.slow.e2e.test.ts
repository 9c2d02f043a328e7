import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { podOf, podsByName, releaseOf } from '../../deploy/chart-releases.testing.ts';
import type { PodSpec } from '../../deploy/chart-releases.testing.ts';
import type { KubeObject } from '../../deploy/helm-checks/kube-object.ts';
import { renderChart } from '../../deploy/helm-checks/render-chart.ts';
import { lastingPort, startNats, startPostgres } from '../../services-src/embedded/index.ts';
import { startGithubMock } from '../story/github-mock.ts';
import { playStory } from '../story/play.ts';
import { startReceiver } from '../story/receiver.ts';
import { startBalancer } from '../support/balancer.ts';
import type { Balancer } from '../support/balancer.ts';
import { isReady, startComponent } from '../support/component-process.ts';
import type { ComponentProcess } from '../support/component-process.ts';
import { programEnv } from '../support/program-env.ts';
import { pollUntil } from '../support/world.ts';
import {
  kubeletVariables,
  localEnvironmentOf,
  mountSecrets,
  readServices,
} from './chart/pods.testing.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const runCommand = promisify(execFile);
const secretPrefix = 'agent-action-gateway';

/**
 * Runs the pods of the rendered chart as local processes, without a cluster: first the hook
 * `migrate`, then all replicas of all Deployments at once. Each process has the command, the
 * variables and the mounted Secrets of its pod, and the variables that the kubelet adds. The
 * Secrets are printed by `npm run secrets -- --kubernetes`. The owner of the database is no
 * superuser, and NATS has the accounts of `nats-chart-values.yaml`. The test replaces only
 * addresses, ports and the folders of Secrets (`localEnvironmentOf`). A load balancer takes the
 * place of each Service.
 */
describe('the chart', () => {
  const stack = new AsyncDisposableStack();
  const secrets = new Map<string, Record<string, string>>();
  const balancers = new Map<string, Balancer>();
  const replicas: { name: string; process: ComponentProcess; logPath: string }[] = [];
  let folder: string;
  let objects: readonly KubeObject[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'aag-pods-'));
    stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    const ports = { postgres: await lastingPort(), nats: await lastingPort() };
    await printSecrets(ports);
    await startServers(ports);
  });
  afterAll(() => stack.disposeAsync());

  async function printSecrets(ports: { postgres: number; nats: number }): Promise<void> {
    const { stdout } = await runCommand(
      process.execPath,
      [
        join(root, 'deploy/make-secrets.ts'),
        '--kubernetes',
        `--postgres=127.0.0.1:${ports.postgres}/gateway`,
        `--nats=127.0.0.1:${ports.nats}`,
      ],
      { cwd: folder, env: programEnv },
    );
    for (const each of parseAllDocuments(stdout, { version: '1.1' })) {
      const { metadata, stringData } = each.toJS();
      secrets.set(metadata.name, stringData);
    }
  }

  async function startServers(ports: { postgres: number; nats: number }): Promise<void> {
    const logger = pino({ level: 'error' });
    const postgres = stack.use(
      await startPostgres({
        dataDir: folder,
        logger,
        durable: false,
        // Enough for 2 replicas of 7 components, and for superusers.
        maxConnections: 110,
        settings: ['listen_addresses=127.0.0.1', `port=${ports.postgres}`],
      }),
    );
    const { DATABASE_URL = '' } = secrets.get(`${secretPrefix}-migrate`) ?? {};
    const { username, password } = new URL(DATABASE_URL);
    const { username: superuser, password: adminPassword } = new URL(postgres.adminUrl);
    const connectionString = `postgres://${superuser}:${adminPassword}@127.0.0.1:${ports.postgres}/postgres`;
    const client = new pg.Client({ connectionString });
    await client.connect();
    await client.query(`create role ${username} createrole login password '${password}'`);
    await client.query(`create database gateway owner ${username}`);
    await client.end();

    const path = join(root, 'deploy/nats-chart-values.yaml');
    const { configMap } = parse(await readFile(path, 'utf8'), { logLevel: 'error' });
    const accounts: string = configMap.merge.data['accounts.conf'];
    const passwords = secrets.get(`${secretPrefix}-nats`) ?? {};
    const config = accounts.replaceAll(/\$(NATS_PASSWORD_[A-Z]+)/g, (_, name: string) =>
      JSON.stringify(passwords[name]),
    );
    stack.use(await startNats({ dataDir: folder, logger, port: ports.nats, config }));
  }

  /** Renders the chart with two replicas of each component, which is the default. */
  async function render(baseUrl: string, upstreams: readonly string[]): Promise<void> {
    const settings = {
      BASE_URL: baseUrl,
      EGRESS_ALLOW: upstreams.map((url) => new URL(url).host).join(),
      LOG_LEVEL: 'warn',
      SHUTDOWN_PAUSE_SECONDS: 1,
    };
    objects = await renderChart(releaseOf({ settings, secrets: { prefix: secretPrefix } }));
  }

  /** Returns the arguments of the pod's program, its local environment, and its local ports. */
  async function localProcess(pod: PodSpec, processFolder: string) {
    const [container] = pod.containers;
    const [program, ...args] = container?.args ?? [];
    if (program !== 'node') throw new Error(`the pod runs ${program} and not node`);
    const containerPorts = container?.ports ?? [];
    await mkdir(processFolder);
    const ports = new Map<string, number>();
    for (const { name } of containerPorts) ports.set(name, await lastingPort());
    const substitutes = {
      ports: new Map(
        containerPorts.map((each) => [each.containerPort, ports.get(each.name) ?? 0] as const),
      ),
      services: new Map([...balancers].map(([name, { url }]) => [name, new URL(url).host])),
      folders: await mountSecrets(pod, { folder: processFolder, secrets }),
    };
    const podVariables = localEnvironmentOf(pod, substitutes);
    return { args, ports, environment: { ...kubeletVariables(objects), ...podVariables } };
  }

  /**
   * Runs the pod's own command, or another Node.js command in the pod's environment. Returns what
   * the command prints.
   */
  async function runInPod(name: string, command?: readonly string[]): Promise<string> {
    const pod = podsByName(objects).get(name);
    if (pod === undefined) throw new Error(`the chart has no pod ${name}`);
    const { args, environment } = await localProcess(pod, join(folder, `${name}-command`));
    const env = { ...programEnv, ...environment };
    return (await runCommand(process.execPath, command ?? args, { cwd: root, env })).stdout;
  }

  /** Starts a replica of a Deployment, and returns when it is ready. */
  async function startReplica(deployment: KubeObject, index: number): Promise<void> {
    const pod = podOf(deployment);
    const component = pod?.spec.containers[0]?.name as Component;
    if (pod === undefined) throw new Error(`${deployment.metadata.name} has no pod`);
    const name = `${component}-${index}`;
    const { args, ports, environment } = await localProcess(pod.spec, join(folder, name));
    const healthPort = ports.get('health') ?? 0;
    const logPath = join(folder, `${name}.log`);
    const options = { component, args, folder: root, environment, healthPort, logPath };
    const started = await startComponent(options);
    replicas.push({ name, process: started, logPath });
    await pollUntil(async () => started.isOver() || (await isReady(healthPort)), name);
    if (started.isOver()) throw new Error(`${name} ended: ${await readFile(logPath, 'utf8')}`);
    for (const { address, portName, leadsTo } of readServices(objects)) {
      if (!leadsTo(pod.metadata.labels)) continue;
      await balancers.get(address)?.add({ port: ports.get(portName) ?? 0, healthPort });
    }
  }

  /** Stops all replicas as the kubelet does. Returns the exit code or signal of each one. */
  async function stopReplicas(): Promise<Record<string, number | NodeJS.Signals>> {
    await Promise.all(replicas.map((each) => each.process.stop()));
    const ends = replicas.map(async (each) => [each.name, await each.process.ended] as const);
    return Object.fromEntries(await Promise.all(ends));
  }

  const readLogs = async () =>
    (await Promise.all(replicas.map(({ logPath }) => readFile(logPath, 'utf8')))).join('');

  test(
    'plays every scene of the demonstration with two replicas of each component',
    { timeout: 600_000 },
    async () => {
      const github = stack.use(await startGithubMock());
      const receiver = stack.use(await startReceiver());
      const gatewayBalancer = stack.use(await startBalancer());
      stack.defer(async () => void (await stopReplicas()));
      await render(gatewayBalancer.url, [github.url, receiver.url]);
      const addresses = readServices(objects).map(({ address }) => address);
      expect(addresses.toSorted()).toEqual(['aag-auth:8081', 'aag-gateway:8080']);
      balancers.set('aag-gateway:8080', gatewayBalancer);
      balancers.set('aag-auth:8081', stack.use(await startBalancer()));

      await runInPod('migrate');
      const deployments = objects.filter(({ kind }) => kind === 'Deployment');
      const starts = deployments.flatMap((deployment) => {
        const count = (deployment['spec'] as { replicas: number }).replicas;
        return Array.from({ length: count }, (_, index) => startReplica(deployment, index));
      });
      await Promise.all(starts);
      expect(replicas.map(({ name }) => name).toSorted()).toEqual(
        components.flatMap((name) => [`${name}-0`, `${name}-1`]).toSorted(),
      );

      const signInUrl = await findWorkingLink(await readLogs());
      const steps: string[] = [];
      await playStory({ signInUrl, github, receiver, say: (line) => steps.push(line) });

      expect(steps.length).toBeGreaterThan(10);
      const { origin } = new URL(signInUrl);
      const metadataReply = await fetch(`${origin}/.well-known/oauth-authorization-server`);
      expect(await metadataReply.json()).toMatchObject({ issuer: gatewayBalancer.url });
      // As docs/kubernetes.md#to-rotate-keys describes.
      expect(await runInPod('executor', ['executor/rotate.ts'])).toContain('Rewrapped');
      const ends = await stopReplicas();
      expect(ends).toEqual(Object.fromEntries(replicas.map(({ name }) => [name, 0])));
      expect(await readLogs()).not.toContain('CANARY-');
    },
  );
});

/** Each replica of auth prints a sign-in link. Returns the one that works, which is the newest. */
async function findWorkingLink(printedText: string): Promise<string> {
  for (const [, link = ''] of printedText.matchAll(/^Sign in: (\S+)$/gm)) {
    const page = await fetch(link, { redirect: 'manual' });
    await page.arrayBuffer();
    if (page.status === 200) return link;
  }
  throw new Error(`no sign-in link works:\n${printedText}`);
}
