import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { Environment } from '#config';
import type { Component } from '#contracts/vocabulary';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { startBalancer } from './balancer.ts';
import type { Balancer } from './balancer.ts';
import { isReady, startComponent } from './component-process.ts';
import type { ComponentProcess } from './component-process.ts';
import { pollUntil } from './world.ts';

/** The source code of one release, from which processes are started. */
export interface Release {
  readonly name: string;
  readonly folder: string;
  /** Settings that only this release has. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** The source code of this working tree. */
export const thisRelease: Release = {
  name: 'this',
  folder: fileURLToPath(new URL('../../', import.meta.url)),
};

export interface Replica {
  readonly component: Component;
  /** Stops the process as an orchestrator does. */
  stop(): Promise<void>;
  /** Stops the process, starts it again at the same addresses, and waits until it is ready. */
  restart(): Promise<void>;
}

/**
 * Components in processes. Any number of replicas and releases can run at the same time. Load
 * balancers stand in front of the components that receive HTTP requests.
 */
export interface Deployment extends AsyncDisposable {
  /** The address of the load balancer in front of the gateways. */
  readonly url: string;
  /** Resolves when the replica is ready. */
  start(component: Component, release: Release): Promise<Replica>;
  /**
   * Replaces the replicas of a component one by one. Each old replica is stopped when its successor
   * is ready.
   */
  replace(component: Component, release: Release): Promise<void>;
  /** What the processes of this release have printed, in the order in which they were started. */
  logsOf(release: Release): Promise<string>;
  /** One text for each process that ended without being stopped, or ended with an error. */
  readonly crashes: readonly string[];
}

/** The number of characters of a crashed process's log that are shown. */
const logCharactersMax = 2_000;

/** Creates a deployment without replicas. Its replicas write their logs to files in the folder. */
export async function openDeployment(
  folder: string,
  environment: Environment,
): Promise<Deployment> {
  await using startup = new AsyncDisposableStack();
  const gatewayBalancer = startup.use(await startBalancer());
  const oauthBalancer = startup.use(await startBalancer());
  const replicas = new Set<Replica>();
  const crashes: string[] = [];
  const logFiles: { readonly release: Release; readonly path: string }[] = [];
  startup.defer(async () => {
    const reportedCrashes = crashes.length;
    await Promise.all([...replicas].map((replica) => replica.stop()));
    if (crashes.length > reportedCrashes)
      throw new Error(crashes.slice(reportedCrashes).join('\n'));
  });
  const commonSettings = {
    ...environment,
    BASE_URL: gatewayBalancer.url,
    OAUTH_URL: oauthBalancer.url,
    // Longer than the load balancers need to notice that a replica is no longer ready.
    SHUTDOWN_PAUSE_SECONDS: '1',
  };

  const start = async (component: Component, release: Release): Promise<Replica> => {
    const logPath = join(folder, `${component}-${release.name}-${logFiles.length}.log`);
    logFiles.push({ release, path: logPath });
    const balancer = { gateway: gatewayBalancer, auth: oauthBalancer }[component as string];
    const settings = { ...commonSettings, ...release.settings };
    const startedReplica = await startReplica({
      component,
      release,
      logPath,
      balancer,
      settings,
      crashes,
    });
    const replica: Replica = {
      ...startedReplica,
      async stop() {
        replicas.delete(replica);
        await startedReplica.stop();
      },
    };
    replicas.add(replica);
    return replica;
  };

  const running = startup.move();
  return {
    url: gatewayBalancer.url,
    crashes,
    start,
    async replace(component, release) {
      for (const replica of [...replicas].filter((each) => each.component === component)) {
        await start(component, release);
        await replica.stop();
      }
    },
    async logsOf(release) {
      const paths = logFiles.filter((log) => log.release === release).map(({ path }) => path);
      return (await Promise.all(paths.map((path) => readFile(path, 'utf8')))).join('');
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

interface ReplicaOptions {
  readonly component: Component;
  readonly release: Release;
  readonly logPath: string;
  readonly balancer: Balancer | undefined;
  readonly settings: Environment;
  readonly crashes: string[];
}

async function startReplica({
  component,
  release,
  logPath,
  balancer,
  settings,
  crashes,
}: ReplicaOptions): Promise<Replica> {
  const name = `${component} of the release ${release.name}`;
  const backend = { port: await lastingPort(), healthPort: await lastingPort() };
  const environment = {
    ...settings,
    [component === 'auth' ? 'OAUTH_PORT' : 'PORT']: String(backend.port),
  };
  let running: ComponentProcess;
  let isToldToEnd: boolean;

  const start = async () => {
    const { folder } = release;
    const { healthPort } = backend;
    isToldToEnd = false;
    running = await startComponent({ component, folder, environment, healthPort, logPath });
    void running.ended.then((end) => {
      if (isToldToEnd && end === 0) return;
      crashes.push(
        `${name} ended: ${end} ${readFileSync(logPath, 'utf8').slice(-logCharactersMax)}`,
      );
    });
    await pollUntil(async () => running.isOver() || (await isReady(healthPort)), name).catch(end);
    if (running.isOver()) throw new Error(`${name} is not ready: ${readFileSync(logPath, 'utf8')}`);
  };
  const end = async () => {
    isToldToEnd = true;
    await running.stop();
  };
  await start();
  await balancer?.add(backend);
  return {
    component,
    async stop() {
      await end();
      balancer?.remove(backend);
    },
    async restart() {
      await end();
      await start();
    },
  };
}
