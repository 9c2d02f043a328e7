#!/usr/bin/env node
// Runs the CLI with Node 24, whichever Node version the editor or shell has found. This file is
// plain JavaScript that Node 20 understands. It installs nothing, and writes nothing to stdout,
// because stdout carries only JSON-RPC frames.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const nodeMajor = 24;
const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

if (Number(process.versions.node.split('.', 1)[0]) >= nodeMajor) {
  await import('./main.ts');
} else {
  const installed = path.join(
    root,
    `node_modules/node-${process.platform}-${process.arch}`,
    'bin/node',
  );
  if (existsSync(installed)) {
    runWith(installed);
  } else {
    process.stderr.write(
      `action-gateway needs Node ${nodeMajor} and this is ${process.versions.node}: ` +
        `install Node ${nodeMajor}, or run "npm ci --omit=dev" in ${root}.\n`,
    );
    process.exitCode = 1;
  }
}

/**
 * Runs the program, which inherits stdin, stdout and stderr and ends whenever this process ends.
 */
function runWith(node) {
  const follow = path.join(root, 'scripts/follow-starter.mjs');
  const main = path.join(root, 'cli/main.ts');
  const child = spawn(node, ['--import', follow, main, ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ACTION_GATEWAY_STARTER: String(process.pid) },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => child.kill(signal));
  child.once('exit', (code, signal) => {
    process.exitCode = signal ? 128 + constants.signals[signal] : code;
  });
}
