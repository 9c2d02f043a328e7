// Makes a fresh clone runnable and then runs one of its programs:
//
//   node scripts/bootstrap.mjs [--dev] [--no-dashboard] <entry.ts> [arguments]
//
// The npm scripts call this program, perhaps before any package is installed, and perhaps with a
// Node as old as 20. So it is plain JavaScript and imports only modules of Node.
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
/**
 * A second signal within this time counts as a repetition of the first, because npm repeats signals
 * that the terminal has already sent.
 */
const signalRepeatMs = 1_000;
const parentPollMs = 500;
/**
 * These sizes save 250 MiB of memory on a large machine, and cost nothing. Without them, V8 lets
 * its young generation, and garbage in the old one, grow with the machine's memory. The scavenger
 * runs without helper threads, because they cost more than they save: few objects survive a
 * scavenge, and Postgres and NATS need the other processors.
 */
const nodeFlags = [
  '--no-parallel-scavenge',
  '--max-semi-space-size=16',
  '--min-semi-space-size=16',
  '--max-old-space-size=960',
];

/** A foreseen reason to stop. It is printed as a sentence, without a stack trace. */
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

/**
 * Runs `work` under a lock, so that only one process per checkout installs or builds at a time. The
 * lock works only on Linux, where the kernel releases it when the process is killed.
 */
async function withLock(work) {
  if (process.platform !== 'linux') return work();
  const name = createHash('sha256').update(realpathSync(root)).digest('hex').slice(0, 32);
  let server = await listen(`\0action-gateway-bootstrap-${name}`);
  if (!server) printLine('Waiting for another start that prepares this checkout …');
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

/** Installs exactly the packages of the lockfile, unless they are already installed. */
async function installPackages({ dev }) {
  if (isInstalled({ dev })) return;
  // `npm ci` first deletes all packages, also those that a gateway running in this checkout has not
  // loaded yet. So if the packages of the product are already installed, the development packages
  // are only added.
  const command = isInstalled({ dev: false }) ? ['install', '--no-save'] : ['ci'];
  const commandText = `npm ${command.join(' ')}`;
  printLine(`Installing packages (${commandText}), which takes about a minute the first time …`);
  const omitted = dev ? '--include=dev' : '--omit=dev';
  const quietOptions = ['--no-audit', '--no-fund', '--loglevel=error'];
  const args = [...command, omitted, '--include=optional', ...quietOptions];
  const npm = process.env.npm_execpath;
  const { code } = npm?.endsWith('.js')
    ? await run(process.execPath, [npm, ...args])
    : await run('npm', args);
  if (code !== 0) {
    throw new Refusal(`${commandText} failed, as it says above: correct that, then start again.`);
  }
}

/**
 * Whether the packages of the lockfile are installed, according to the record that npm writes at
 * the end of an installation. Optional packages are not compared, because most of them are for
 * other platforms.
 */
function isInstalled({ dev }) {
  const lockedPackages = readJson('package-lock.json')?.packages;
  if (!lockedPackages)
    throw new Refusal('package-lock.json is missing: this is not a whole checkout.');
  const installedPackages = readJson('node_modules/.package-lock.json')?.packages ?? {};
  return Object.entries(lockedPackages).every(
    ([name, { version, optional, dev: isDev, devOptional }]) => {
      const isWanted = name !== '' && !optional && !devOptional && (dev || !isDev);
      return !isWanted || installedPackages[name]?.version === version;
    },
  );
}

function readJson(name) {
  try {
    return JSON.parse(readFileSync(path.join(root, name), 'utf8'));
  } catch {
    return undefined; // without a readable record, the packages are installed again
  }
}

/**
 * Finds the Node that runs the product: Node 24 from npm or, without it, the Node that runs this
 * script, if that is new enough.
 */
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

/** Builds the dashboard if any of its sources have changed since the last build. */
async function buildDashboard(node) {
  if (!existsSync(path.join(root, 'dashboard/index.html'))) return;
  const stampFile = path.join(root, 'dashboard/dist/.built-from');
  const hash = hashSources([
    'dashboard',
    'services-src/contracts',
    'services-src/hidden-characters',
    'services-src/permission-key',
    'scripts/licences.ts',
    'package-lock.json',
  ]);
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === hash) return;

  printLine('Building the dashboard …');
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
  const followStarterFile = path.join(root, 'scripts/follow-starter.mjs');
  const { code, signal } = await run(
    node,
    [...nodeFlags, '--import', followStarterFile, entry, ...args],
    {
      ipc: true,
    },
  );
  return signal ? 128 + constants.signals[signal] : code;
}

/**
 * Runs a program in a separate session, and passes on the signals that this process receives.
 *
 * So the program receives Ctrl-C only once. In the process group of this script it would receive
 * Ctrl-C from the terminal, from npm and from this script, and programs treat a second Ctrl-C as a
 * demand to stop immediately.
 */
function run(command, args, { ipc = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      detached: true,
      stdio: ['inherit', 'inherit', 'inherit', ...(ipc ? ['ipc'] : [])],
      env: {
        // Node stores compiled code here, which shortens later starts by a third.
        NODE_COMPILE_CACHE: path.join(root, 'node_modules/.cache/node'),
        ...process.env,
        PATH: [path.join(root, 'node_modules/.bin'), process.env.PATH].join(path.delimiter),
        ...(ipc && { ACTION_GATEWAY_STARTER: String(process.pid) }),
      },
    });
    const stopPassingOn = passOnSignals((signal) => child.kill(signal));
    child.once('error', (error) => {
      stopPassingOn();
      const isMissing = error.code === 'ENOENT';
      reject(isMissing ? new Refusal(`${command} is not installed: install it first.`) : error);
    });
    child.once('exit', (code, signal) => {
      stopPassingOn();
      resolve({ code, signal });
    });
  });
}

function passOnSignals(send) {
  const startedBy = process.ppid;
  let sentAt = -signalRepeatMs;
  const passOn = (signal) => {
    if (performance.now() - sentAt < signalRepeatMs) return;
    sentAt = performance.now();
    send(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, passOn);
  // npm cannot send a signal when it is killed, so this checks whether npm still runs. (The npm
  // scripts begin with `exec`, so npm itself is the parent process and there is no shell in
  // between.)
  const watch = setInterval(() => {
    if (process.env.npm_lifecycle_event && process.ppid !== startedBy) passOn('SIGTERM');
  }, parentPollMs);
  return () => {
    clearInterval(watch);
    for (const signal of signals) process.off(signal, passOn);
  };
}

function printLine(sentence) {
  process.stderr.write(`${sentence}\n`);
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  printLine(error.message);
  process.exitCode = 1;
}
