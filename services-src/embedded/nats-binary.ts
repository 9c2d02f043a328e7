import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

import { isNatsNewEnough, oldestNatsVersion } from '../bus/nats-version.ts';
import { openCacheDir } from './cache-dir.ts';
import { lockDataDir } from './data-dir-lock.ts';
import { EmbeddedError } from './embedded-error.ts';
import { runProgram } from './run-program.ts';
import type { EmbeddedLogger } from './server-process.ts';

export interface NatsSearch {
  /**
   * The environment variables: PATH, HOME and XDG_CACHE_HOME are read; apt gets all of them, for
   * its proxy settings.
   */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly logger: EmbeddedLogger;
  /** The folders in which Debian installs the program; an ordinary user's PATH lacks them. */
  readonly systemDirs?: readonly string[];
}

/** The first Debian whose own nats-server package is new enough. */
const firstSuitableDebian = { version: 13, codename: 'trixie' };
const debianKeyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
const versionTimeoutMs = 10_000;
const downloadTimeoutMs = 120_000;
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

  const cacheDir = await openCacheDir(cacheCandidates(environment), { mode: 0o700 });
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

function cacheCandidates(environment: NatsSearch['environment']): string[] {
  const { XDG_CACHE_HOME: cacheHome, HOME: home } = environment;
  return [
    ...(cacheHome ? [join(cacheHome, 'agent-action-gateway')] : []),
    ...(home ? [join(home, '.cache/agent-action-gateway')] : []),
    `/var/tmp/agent-action-gateway-${process.geteuid?.()}`,
  ];
}

async function isUsable(command: string): Promise<boolean> {
  const timeoutMs = versionTimeoutMs;
  const outcome = await runProgram({ command, args: ['--version'], env: {}, timeoutMs });
  return outcome.ok && isNatsNewEnough(/v[\d.]+/.exec(outcome.output)?.[0] ?? '');
}

/** Puts the program from the distribution's package at `target`, or returns why that failed. */
async function fetchPackage(
  target: string,
  { environment, logger }: NatsSearch,
): Promise<string | undefined> {
  const workFolder = await mkdtemp(join(tmpdir(), 'action-gateway-'));
  try {
    // apt does not make these folders itself, and without root it may not use the system's folders.
    await mkdir(join(workFolder, 'lists/partial'), { recursive: true });
    await mkdir(join(workFolder, 'cache/archives/partial'), { recursive: true });
    const run = (command: string, ...args: string[]) =>
      runProgram({
        command,
        args,
        cwd: workFolder,
        env: Object.fromEntries(
          Object.entries(environment).filter((entry): entry is [string, string] => !!entry[1]),
        ),
        timeoutMs: downloadTimeoutMs,
      });
    const options = [
      `Dir::State::Lists=${workFolder}/lists`,
      `Dir::Cache=${workFolder}/cache`,
      'Debug::NoLocking=1',
      'APT::Sandbox::User=root', // Run as root, apt would otherwise switch to a user that may not enter this folder.
    ].flatMap((option) => ['-o', option]);

    logger.info({ to: target }, 'fetching nats-server from the distribution');
    const uriListOutcome = await run('apt-get', ...options, '--print-uris', 'update');
    if (!uriListOutcome.ok) return uriListOutcome.problem.slice(-problemCharactersMax);
    const mirror = findNewerDebianMirror(
      await readFile('/etc/os-release', 'utf8').catch(() => ''),
      uriListOutcome.output,
    );
    if (mirror !== undefined) options.push(...(await writeSources(workFolder, mirror)));

    const updateOutcome = await run('apt-get', ...options, '--quiet', 'update');
    if (!updateOutcome.ok) return updateOutcome.problem.slice(-problemCharactersMax);
    const downloadOutcome = await run('apt-get', ...options, '--quiet', 'download', 'nats-server');
    if (!downloadOutcome.ok) return downloadOutcome.problem.slice(-problemCharactersMax);
    const archive = (await readdir(workFolder)).find((name) => name.endsWith('.deb')) ?? '';
    const unpackOutcome = await run('dpkg', '-x', archive, 'unpacked');
    if (!unpackOutcome.ok) return unpackOutcome.problem.slice(-problemCharactersMax);

    await placeProgram(join(workFolder, 'unpacked/usr/sbin/nats-server'), target);
    return undefined;
  } finally {
    await rm(workFolder, { recursive: true, force: true });
  }
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

/**
 * Writes an apt source for this one download; returns the options that make apt read no other
 * source.
 */
async function writeSources(workFolderPath: string, mirror: string): Promise<string[]> {
  await mkdir(join(workFolderPath, 'sources'));
  const sourceLines = [
    'Types: deb',
    `URIs: ${mirror}`,
    `Suites: ${firstSuitableDebian.codename}`,
    'Components: main',
    `Signed-By: ${debianKeyring}`,
  ];
  await writeFile(join(workFolderPath, 'sources/newer.sources'), `${sourceLines.join('\n')}\n`);
  return [
    'Dir::Etc::SourceList=/dev/null',
    `Dir::Etc::SourceParts=${workFolderPath}/sources`,
    'APT::Default-Release=', // A default release in the machine's configuration would name one that this source does not have.
  ].flatMap((option) => ['-o', option]);
}

/**
 * Moves the program to its final name in one step, because this process may be killed at any
 * moment.
 */
async function placeProgram(from: string, to: string): Promise<void> {
  const partial = `${to}.partial`;
  await copyFile(from, partial);
  await chmod(partial, 0o755);
  await rename(partial, to);
}
