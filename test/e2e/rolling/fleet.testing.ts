import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Environment } from '#config';
import { components } from '#contracts/vocabulary';
import { openDeployment, thisRelease } from '../../support/deployment.ts';
import type { Deployment, Replica } from '../../support/deployment.ts';

export interface Fleet extends Deployment {
  readonly firstSignInUrl: string;
  /** The first and the second replica of each component. */
  readonly replicas: readonly (readonly Replica[])[];
}

/** Runs each component as two processes. */
export async function startFleet(environment: Environment): Promise<Fleet> {
  await using startup = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-fleet-'));
  startup.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const settings = { ...environment, DATABASE_CONNECTIONS_MAX: '3', LOG_LEVEL: 'warn' };
  const deployment = startup.use(await openDeployment(folder, settings));
  const startReplicas = () =>
    Promise.all(components.map((component) => deployment.start(component, thisRelease)));
  // The first replicas start alone, so that the second replica of auth finds the admin that the
  // first replica created.
  const replicas = [await startReplicas(), await startReplicas()];
  const printedLogs = await deployment.logsOf(thisRelease);

  const running = startup.move();
  return {
    ...deployment,
    // Each replica of auth prints a sign-in link, and only the newest link works.
    firstSignInUrl: /.*^Sign in: (\S+)$/ms.exec(printedLogs)?.[1] ?? '',
    replicas,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
