/** `npm start`: runs all components in one process, on embedded servers. */
import { defineConfig, loadConfig } from '#config';
import { orExit, processSettings, startObserving, untilStopped } from '#process';
import { launch } from './launch.ts';
import type { Running } from './launch.ts';
import { createCallLines } from './terminal.ts';

const startConfig = defineConfig('start', ['DATA_DIR', ...processSettings]);

await orExit(async () => {
  // A person at a terminal reads the lines that are printed below, so only warnings and errors are
  // logged there. LOG_LEVEL=info shows more log lines.
  const { isTTY } = process.stdout;
  const environment = { ...(isTTY && { LOG_LEVEL: 'warn' }), ...process.env };
  const config = loadConfig(startConfig, environment);
  await using running = new AsyncDisposableStack();
  let gateway: Running | undefined;
  running.use(
    await startObserving({
      serviceName: 'gateway',
      config,
      // A program that a person has started needs no health checks from other machines.
      healthHost: '127.0.0.1',
      failingChecks: () => gateway?.failing(),
    }),
  );
  const stop = untilStopped();
  gateway = running.use(
    await launch(environment, {
      dataDir: config.DATA_DIR,
      onCall: isTTY ? createCallLines(process.stdout) : undefined,
    }),
  );

  process.stdout.write(`Agent Action Gateway: ${gateway.url}\n`);
  if (gateway.firstSignInUrl !== null) process.stdout.write(`Sign in: ${gateway.firstSignInUrl}\n`);
  const failure = await Promise.race([stop.then(() => undefined), gateway.failed]);
  if (failure !== undefined) throw new Error(failure);
  process.stdout.write('Stopping: finishing what is under way.\n');
});
