import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { EmbeddedError } from './embedded-error.ts';
import { readKeys } from './key-file.ts';
import { createUrlFor } from './postgres.ts';

/** The database of an embedded installation, with the schemas of all components. */
export const databaseName = 'gateway';

export interface RunningInstallation {
  /** A value in `keys.json`; undefined when there is none with this name. */
  key(name: string): string | undefined;
  /** The URL by which this component logs in to the database. */
  databaseUrl(component: string): string;
}

/**
 * The installation that `npm start` runs from a data folder, for another command on this machine.
 * Undefined when no installation was ever started from the folder; throws an error for people when
 * it is not running.
 */
export async function findRunningInstallation(
  dataDir: string,
): Promise<RunningInstallation | undefined> {
  const home = resolve(dataDir);
  const keys = await readKeys(join(home, 'keys.json'));
  if (Object.keys(keys).length === 0) return undefined;
  // Uses the real path, because `run` may be a link whose own path is too long for a socket.
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
