#!/usr/bin/env node
// Runs the CLI with Node 24, even if the editor or shell has started this file with another version
// of Node. This file is plain JavaScript that Node 20 understands. It installs nothing, and writes
// nothing to stdout, because stdout carries only JSON-RPC frames. The npm package of the CLI
// contains a copy of this file beside the compiled program.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const nodeMajor = 24;
const folder = path.dirname(fileURLToPath(import.meta.url));
const root = path.dirname(folder);
const sourceFile = path.join(folder, 'main.ts');
const isClone = existsSync(sourceFile);
const main = isClone ? sourceFile : path.join(folder, 'main.js');

if (isClone && folder.split(path.sep).includes('node_modules')) {
  // Node refuses to run TypeScript below a folder named node_modules.
  process.stderr.write(
    'action-gateway: This package cannot be installed. The command line is a package of its own: run "npm pack ./cli/npm" ' +
      'in a clone of the repository. To start a gateway, run "npm start" in the clone.\n',
  );
  process.exitCode = 2;
} else if (Number(process.versions.node.split('.', 1)[0]) >= nodeMajor) {
  await import(pathToFileURL(main).href);
} else {
  const installed = findInstalledNode();
  if (installed === undefined) {
    process.stderr.write(
      `action-gateway needs Node ${nodeMajor} and this is ${process.versions.node}: ` +
        `install Node ${nodeMajor} (https://nodejs.org), or ${wayToGetNodeFromNpm()}.\n`,
    );
    process.exitCode = 1;
  } else {
    runWith(installed);
  }
}

/**
 * The path of the Node 24 that npm installs as an optional package on Linux; undefined if it is not
 * installed.
 */
function findInstalledNode() {
  try {
    const name = `node-${process.platform}-${process.arch}`;
    return createRequire(import.meta.url).resolve(`${name}/bin/node`);
  } catch {
    return undefined;
  }
}

function wayToGetNodeFromNpm() {
  return isClone
    ? `run "npm ci --omit=dev" in ${root}`
    : 'on Linux install this package again where npm reaches its registry, without --omit=optional';
}

/**
 * Runs the program, which inherits stdin, stdout and stderr and ends whenever this process ends.
 */
function runWith(node) {
  const followStarterFile = path.join(root, 'scripts/follow-starter.mjs');
  const child = spawn(node, ['--import', followStarterFile, main, ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ACTION_GATEWAY_STARTER: String(process.pid) },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => child.kill(signal));
  child.once('exit', (code, signal) => {
    process.exitCode = signal ? 128 + constants.signals[signal] : code;
  });
}
