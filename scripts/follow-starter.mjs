// Loaded before a program that bootstrap.mjs starts: whoever kills bootstrap, which the
// operating system does not let it notice, kills the program too. Otherwise it would go on
// and keep the next start from the data folder.
import { isMainThread } from 'node:worker_threads';

if (isMainThread && process.env.ACTION_GATEWAY_STARTER === String(process.ppid)) {
  delete process.env.ACTION_GATEWAY_STARTER; // not for the program's own children
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.channel?.unref(); // waiting for this alone does not keep the program running
}
