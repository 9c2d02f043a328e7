#!/usr/bin/env node
// Starts the command line of the installed package, or says which Node it needs.
const nodeMajor = 24;

if (Number(process.versions.node.split('.', 1)[0]) >= nodeMajor) {
  await import('./dist/main.js');
} else {
  process.stderr.write(
    `action-gateway needs Node ${nodeMajor} and this is ${process.versions.node}.\n`,
  );
  process.exitCode = 1;
}
