import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { EmbeddedError } from './embedded-error.ts';
import { readKeys } from './key-file.ts';
import { createUrlFor } from './postgres.ts';

/** Of everything that `npm start` keeps. */
export const databaseName = 'gateway';

export interface RunningInstallation {
  /** As in `keys.json`; undefined for what is not there. */
  key(name: string): string | undefined;
  /** The database as this component logs in to it. */
  databaseUrl(component: string): string;
}

/**
 * What `npm start` serves from a data folder, for a command beside it. Undefined when nothing has
 * ever been started there; refuses in a sentence when it does not run.
 */
export async function findRunning(dataDir: string): Promise<RunningInstallation | undefined> {
  const home = resolve(dataDir);
  const keys = await readKeys(join(home, 'keys.json'));
  if (Object.keys(keys).length === 0) return undefined;
  // Its real path: the one in our own folder may be a link, and too long for a socket.
  const socketDir = await realpath(join(home, 'postgres/run')).catch(() => undefined);
  if (socketDir === undefined) {
    throw new EmbeddedError(`Nothing runs on ${home}. Start the gateway (npm start) first.`);
  }
  const urlFor = createUrlFor(socketDir);
  return {
    key: (name) => keys[name],
    databaseUrl: (component) =>
      urlFor({
        user: component,
        password: keys[`POSTGRES_${component}`] ?? '',
        database: databaseName,
      }),
  };
}
