// Loaded into each program that bootstrap.mjs starts. It ends the program when bootstrap is killed,
// because bootstrap cannot end the program then. Otherwise the program would go on running and lock
// the data folder, so that the next start would fail.
import { isMainThread } from 'node:worker_threads';

if (isMainThread && process.env.ACTION_GATEWAY_STARTER === String(process.ppid)) {
  delete process.env.ACTION_GATEWAY_STARTER; // child processes of the program must not inherit this variable
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.channel?.unref(); // the open channel to bootstrap must not keep the program running
}
