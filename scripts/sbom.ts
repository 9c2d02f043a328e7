/**
 * `npm run --silent sbom > FILE`: prints the software bill of materials of a release in CycloneDX.
 * It lists the npm packages that the release ships or installs, with versions, licences and hashes.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const runCommand = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const outputBytesMax = 16 * 1_024 * 1_024;

interface Lockfile {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
}

/**
 * Returns the JSON that `npm sbom` prints for the packages that are not only for development. It
 * reads the lockfile, and needs neither installed packages nor a registry.
 */
export async function createSbom(): Promise<string> {
  const manifest = await readJson<{ name: string; devDependencies?: unknown }>('package.json');
  const lockfile = await readJson<Lockfile>('package-lock.json');
  const temporaryFolder = await mkdtemp(join(tmpdir(), 'aag-sbom-'));
  try {
    // npm uses the name of the folder as the name of the project.
    const folder = join(temporaryFolder, manifest.name);
    await mkdir(folder);
    const write = (name: string, value: object) =>
      writeFile(join(folder, name), JSON.stringify(value));
    await write('package.json', { ...manifest, devDependencies: {} });
    await write('package-lock.json', withoutDevelopment(lockfile));
    const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'];
    return (await runCommand('npm', args, { cwd: folder, maxBuffer: outputBytesMax })).stdout;
  } finally {
    await rm(temporaryFolder, { recursive: true });
  }
}

/**
 * Removes the packages that only development needs from the lockfile. `npm sbom --omit dev` would
 * also omit packages that both the product and a package for development use.
 */
function withoutDevelopment(lockfile: Lockfile): Lockfile {
  const entries = Object.entries(lockfile.packages).filter(([, { dev }]) => dev !== true);
  const [[path, project] = ['', {}], ...packages] = entries;
  return {
    ...lockfile,
    packages: Object.fromEntries([[path, { ...project, devDependencies: {} }], ...packages]),
  };
}

async function readJson<T>(name: string): Promise<T> {
  return JSON.parse(await readFile(join(root, name), 'utf8')) as T;
}

if (import.meta.main) process.stdout.write(await createSbom());
