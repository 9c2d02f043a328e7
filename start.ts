/** `npm start`: everything embedded in one process. */
import { defineConfig, loadConfig } from '#config';
import { orExit, untilStopped } from '#process';
import { startTelemetry } from '#telemetry';
import { launch } from './launch.ts';

const startConfig = defineConfig('start', [
  'DATA_DIR',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_TRACES_SAMPLER_ARG',
]);

await orExit(async () => {
  // At a terminal the two lines below are what matters; LOG_LEVEL=info shows the rest.
  const environment = { LOG_LEVEL: 'warn', ...process.env };
  const config = loadConfig(startConfig, environment);
  await using running = new AsyncDisposableStack();
  running.use(
    await startTelemetry({
      serviceName: 'gateway',
      endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
      sampleRatio: config.OTEL_TRACES_SAMPLER_ARG,
    }),
  );
  const stop = untilStopped();
  const gateway = running.use(await launch(environment, { dataDir: config.DATA_DIR }));

  process.stdout.write(`Agent Action Gateway: ${gateway.url}\n`);
  if (gateway.firstSignInUrl !== null) process.stdout.write(`Sign in: ${gateway.firstSignInUrl}\n`);
  const failure = await Promise.race([stop.then(() => undefined), gateway.failed]);
  if (failure !== undefined) throw new Error(failure);
  process.stdout.write('Stopping: finishing what is under way.\n');
});
