import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { openApt } from '../../services-src/embedded/apt.ts';
import type { Apt } from '../../services-src/embedded/apt.ts';
import { openProgramCache, placeProgram } from '../../services-src/embedded/cache-dir.ts';
import { lockDataDir } from '../../services-src/embedded/data-dir-lock.ts';
import { runProgram } from '../../services-src/embedded/run-program.ts';
import type { ProgramOutcome } from '../../services-src/embedded/run-program.ts';

/** Go, and the libraries that Helm itself uses. */
const packages = [
  'golang-go',
  'golang-github-masterminds-sprig-dev',
  'golang-k8s-sigs-yaml-dev',
  'golang-github-xeipuuv-gojsonschema-dev',
];
const sourceFolder = fileURLToPath(new URL('renderer', import.meta.url));
const buildTimeoutMs = 600_000;

/**
 * Returns the path of the program that renders charts (`renderer/`). The program is built if the
 * cache does not contain it or if its source has changed. Building downloads 91 MB from the Linux
 * distribution, Go and its libraries, and takes from half a minute to two minutes.
 */
export async function buildRenderer(): Promise<string> {
  const folder = join(await openProgramCache(process.env), 'helm-renderer');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const program = join(folder, `${await hashSource()}-${process.arch}`);
  // Only one process builds at a time. It does not lock the whole cache, because every start of
  // NATS needs the lock of the whole cache.
  await using _lock = await lockDataDir(folder, { waitMs: 2 * buildTimeoutMs });
  if (await stat(program).catch(() => undefined)) return program;

  await using apt = await openApt(process.env);
  await fetchGo(apt);
  await placeProgram(await build(apt), program);
  return program;
}

async function readSource(): Promise<(readonly [name: string, text: string])[]> {
  const names = (await readdir(sourceFolder)).filter((name) => name.endsWith('.go')).toSorted();
  return Promise.all(
    names.map(async (name) => [name, await readFile(join(sourceFolder, name), 'utf8')] as const),
  );
}

async function hashSource(): Promise<string> {
  const text = JSON.stringify([packages, await readSource()]);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Unpacks Go and the libraries into `unpacked`. */
async function fetchGo(apt: Apt): Promise<void> {
  // With an empty list of installed packages, apt downloads all packages, even those that are
  // installed.
  const status = join(apt.folder, 'status');
  await writeFile(status, '');
  apt.set(`Dir::State::status=${status}`);
  throwUnlessOk('apt-get update', await apt.get('--quiet', 'update'));
  const options = ['--quiet', '--yes', '--download-only', '--no-install-recommends'];
  throwUnlessOk('apt-get install', await apt.get(...options, 'install', ...packages));
  const archiveFolder = join(apt.folder, 'cache/archives');
  for (const name of await readdir(archiveFolder)) {
    if (!name.startsWith('golang-')) continue;
    throwUnlessOk('dpkg', await apt.run('dpkg', '-x', join(archiveFolder, name), 'unpacked'));
  }
}

/** Builds the program with the unpacked libraries and without Go modules; returns its path. */
async function build(apt: Apt): Promise<string> {
  const libraries = join(apt.folder, 'unpacked/usr/share/gocode');
  const folder = join(libraries, 'src/helm-renderer');
  const goRoot = join(apt.folder, 'unpacked/usr/lib/go');
  const program = join(apt.folder, 'helm-renderer');
  await mkdir(folder);
  for (const [name, text] of await readSource()) await writeFile(join(folder, name), text);
  // With this file, Go finds `sprig/v3` in a folder that has no version in its name.
  await writeFile(join(folder, 'go.mod'), 'module helm-renderer\n');
  const outcome = await runProgram({
    command: join(goRoot, 'bin/go'),
    args: ['build', '-o', program, '.'],
    cwd: folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: apt.folder,
      GOROOT: goRoot,
      GOPATH: libraries,
      GOCACHE: join(apt.folder, 'go-cache'),
      GO111MODULE: 'off',
      CGO_ENABLED: '0',
    },
    timeoutMs: buildTimeoutMs,
  });
  throwUnlessOk('go build', outcome);
  return program;
}

function throwUnlessOk(step: string, outcome: ProgramOutcome): void {
  if (!outcome.ok) throw new Error(`The renderer of charts: ${step} failed: ${outcome.problem}`);
}
