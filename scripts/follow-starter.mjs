// Each program that bootstrap.mjs starts loads this file. If bootstrap is killed, it cannot end the
// program, so this file ends the program. Otherwise the program would keep running and lock the
// data folder, and the next start would fail.
import { isMainThread } from 'node:worker_threads';

if (isMainThread && process.env.ACTION_GATEWAY_STARTER === String(process.ppid)) {
  delete process.env.ACTION_GATEWAY_STARTER; // child processes of the program must not inherit this variable
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.channel?.unref(); // the open channel to bootstrap must not keep the program running
}
