// Makes a fresh clone runnable and then runs one of its programs:
//
//   node scripts/bootstrap.mjs [--dev] [--no-dashboard] <entry.ts> [arguments]
//
// It is what the npm scripts call. Nothing may be installed yet, and Node may be as old as
// 20: so it is plain JavaScript and uses nothing but Node.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { spawn, spawnSync } from 'node:child_process';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const oldestNodeHere = 20;
const nodeMajor = 24;
const knownOptions = new Set(['--dev', '--no-dashboard']);
/** Within this time a second signal is the first one again: npm repeats what the terminal sends. */
const signalRepeatMs = 1_000;
const parentPollMs = 500;
/**
 * Without the sizes the heap takes 250 MiB more on a large machine, for nothing: V8 lets its young
 * generation, and garbage in the old one, grow with the memory it sees. Helpers of the scavenger
 * cost more than they save: little survives, and Postgres and NATS want the other processors.
 */
const nodeFlags = [
  '--no-parallel-scavenge',
  '--max-semi-space-size=16',
  '--min-semi-space-size=16',
  '--max-old-space-size=960',
];

/** A foreseen reason to stop: printed as a sentence, without a stack. */
class Refusal extends Error {}

async function main() {
  const { options, entry, args } = parseArguments(process.argv.slice(2));
  if (majorOf(process.versions.node) < oldestNodeHere) {
    throw new Refusal(`Node ${process.versions.node} is too old: install Node ${nodeMajor}.`);
  }
  await withLock(async () => {
    await installPackages({ dev: options.has('--dev') });
    if (!options.has('--no-dashboard')) await buildDashboard(findNode());
  });
  return runEntry(findNode(), entry, args);
}

function parseArguments(given) {
  const end = given.findIndex((argument) => !argument.startsWith('--'));
  const options = end === -1 ? given : given.slice(0, end);
  const unknown = options.find((option) => !knownOptions.has(option));
  if (unknown) throw new Refusal(`bootstrap: unknown option ${unknown}.`);
  if (end === -1) throw new Refusal('bootstrap: name the program to run, for example start.ts.');
  return { options: new Set(options), entry: given[end], args: given.slice(end + 1) };
}

/** One at a time per checkout, on Linux; the kernel releases the lock of whoever is killed. */
async function withLock(work) {
  if (process.platform !== 'linux') return work();
  const name = createHash('sha256').update(realpathSync(root)).digest('hex').slice(0, 32);
  let server = await listen(`\0action-gateway-bootstrap-${name}`);
  if (!server) say('Waiting for another start that prepares this checkout …');
  while (!server) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    server = await listen(`\0action-gateway-bootstrap-${name}`);
  }
  try {
    return await work();
  } finally {
    server.close();
  }
}

function listen(address) {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error) => (error.code === 'EADDRINUSE' ? resolve() : reject(error)));
    server.listen(address, () => resolve(server));
  });
}

/** Installs exactly the lockfile, unless that is what is there. */
async function installPackages({ dev }) {
  if (isInstalled({ dev })) return;
  say('Installing packages (npm ci), which takes about a minute the first time …');
  const omitted = dev ? '--include=dev' : '--omit=dev';
  const args = ['ci', omitted, '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  const npm = process.env.npm_execpath;
  const { code } = npm?.endsWith('.js')
    ? await run(process.execPath, [npm, ...args])
    : await run('npm', args);
  if (code !== 0) {
    throw new Refusal('npm ci failed, as it says above: correct that, then start again.');
  }
}

/**
 * Compares the lockfile with npm's own note of what it has installed, which it writes last.
 * Optional packages are npm's to judge: most are for other platforms.
 */
function isInstalled({ dev }) {
  const wanted = readJson('package-lock.json')?.packages;
  if (!wanted) throw new Refusal('package-lock.json is missing: this is not a whole checkout.');
  const present = readJson('node_modules/.package-lock.json')?.packages ?? {};
  return Object.entries(wanted).every(([name, { version, optional, dev: isDev, devOptional }]) => {
    const isWanted = name !== '' && !optional && !devOptional && (dev || !isDev);
    return !isWanted || present[name]?.version === version;
  });
}

function readJson(name) {
  try {
    return JSON.parse(readFileSync(path.join(root, name), 'utf8'));
  } catch {
    return undefined; // missing or cut off: what is not known is installed again
  }
}

/** Node 24: the one from npm, or else the one that runs this, if it is new enough. */
function findNode() {
  const platform = `${process.platform}-${process.arch}`;
  const installed = path.join(root, `node_modules/node-${platform}/bin/node`);
  if (spawnSync(installed, ['--version']).status === 0) return installed;
  if (majorOf(process.versions.node) >= nodeMajor) return process.execPath;
  throw new Refusal(
    `npm brings no Node ${nodeMajor} for ${platform}, and this is ${process.versions.node}: ` +
      `install Node ${nodeMajor} or newer.`,
  );
}

function majorOf(version) {
  return Number(version.split('.', 1)[0]);
}

/** Builds the dashboard if anything that goes into it has changed since. */
async function buildDashboard(node) {
  if (!existsSync(path.join(root, 'dashboard/index.html'))) return;
  const stampFile = path.join(root, 'dashboard/dist/.built-from');
  const hash = hashSources([
    'dashboard',
    'services-src/contracts',
    'services-src/hidden-characters',
    'package-lock.json',
  ]);
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === hash) return;

  say('Building the dashboard …');
  const { code } = await run(node, [
    path.join(root, 'node_modules/vite/bin/vite.js'),
    'build',
    'dashboard',
    '--logLevel',
    'warn',
  ]);
  if (code !== 0) throw new Refusal('The dashboard cannot be built, as vite says above.');
  writeFileSync(stampFile, hash);
}

function hashSources(names) {
  const hash = createHash('sha256');
  const add = (name) => {
    const file = path.join(root, name);
    const isFolder = readdirOrUndefined(file);
    if (!isFolder) return void hash.update(`${name}\0`).update(readFileSync(file)).update('\0');
    for (const child of isFolder.toSorted()) {
      if (!['dist', 'node_modules'].includes(child)) add(path.posix.join(name, child));
    }
  };
  for (const name of names) add(name);
  return hash.digest('hex');
}

function readdirOrUndefined(file) {
  try {
    return readdirSync(file);
  } catch (error) {
    if (error.code === 'ENOTDIR') return undefined;
    throw error;
  }
}

async function runEntry(node, entry, args) {
  const follow = path.join(root, 'scripts/follow-starter.mjs');
  const { code, signal } = await run(node, [...nodeFlags, '--import', follow, entry, ...args], {
    ipc: true,
  });
  return signal ? 128 + constants.signals[signal] : code;
}

/**
 * Runs a program in a session of its own, and hands on the signals that we get.
 *
 * So each Ctrl-C arrives once. In our own process group it would come from the terminal,
 * from npm and from us, and programs take a second one for impatience.
 */
function run(command, args, { ipc = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      detached: true,
      stdio: ['inherit', 'inherit', 'inherit', ...(ipc ? ['ipc'] : [])],
      env: {
        ...process.env,
        PATH: [path.join(root, 'node_modules/.bin'), process.env.PATH].join(path.delimiter),
        ...(ipc && { ACTION_GATEWAY_STARTER: String(process.pid) }),
      },
    });
    const stopHandingOn = handOnSignals((signal) => child.kill(signal));
    child.once('error', (error) => {
      stopHandingOn();
      const isMissing = error.code === 'ENOENT';
      reject(isMissing ? new Refusal(`${command} is not installed: install it first.`) : error);
    });
    child.once('exit', (code, signal) => {
      stopHandingOn();
      resolve({ code, signal });
    });
  });
}

function handOnSignals(send) {
  const startedBy = process.ppid;
  let sentAt = -signalRepeatMs;
  const handOn = (signal) => {
    if (performance.now() - sentAt < signalRepeatMs) return;
    sentAt = performance.now();
    send(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, handOn);
  // An npm that was killed cannot tell us to stop. (The npm scripts say `exec`, so that npm is
  // our parent, and no shell that would outlive it.)
  const watch = setInterval(() => {
    if (process.env.npm_lifecycle_event && process.ppid !== startedBy) handOn('SIGTERM');
  }, parentPollMs);
  return () => {
    clearInterval(watch);
    for (const signal of signals) process.off(signal, handOn);
  };
}

function say(sentence) {
  process.stderr.write(`${sentence}\n`);
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  say(error.message);
  process.exitCode = 1;
}
