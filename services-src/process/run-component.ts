import { ConfigError, loadConfig } from '#config';
import type { Config, ConfigSpec, SettingName } from '#config';
import { startTelemetry } from '#telemetry';
import type { Logger } from '#telemetry';
import { serveHealth } from './health.ts';
import { untilStopped } from './stop.ts';

export type RunningComponent = AsyncDisposable & { readonly logger: Logger };

/** Settings of the process itself, whichever component runs in it. */
const processSettings = [
  'HEALTH_PORT',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_TRACES_SAMPLER_ARG',
] as const satisfies readonly SettingName[];

/** The whole life of a component's own process: settings, start, wait for a signal, stop. */
export async function runComponent<N extends SettingName>(
  spec: ConfigSpec<N>,
  start: (config: Config<N>) => Promise<RunningComponent>,
): Promise<void> {
  await orExit(async () => {
    const own = loadConfig({ ...spec, names: processSettings }, process.env);
    const config = loadConfig(spec, process.env);
    // From now on: a signal while it starts is a stop too, once it has started.
    const stopped = untilStopped();
    await using running = new AsyncDisposableStack();
    running.use(
      await startTelemetry({
        serviceName: `gateway-${spec.component}`,
        endpoint: own.OTEL_EXPORTER_OTLP_ENDPOINT,
        sampleRatio: own.OTEL_TRACES_SAMPLER_ARG,
      }),
    );
    const { logger } = running.use(await start(config));
    if (own.HEALTH_PORT !== undefined) running.use(await serveHealth(own.HEALTH_PORT));
    const signal = await stopped;
    logger.info({ signal }, 'stopping');
  });
}

/** Runs `main`; a wrong setting or a failed start ends the process with its sentence, not with a stack. */
export async function orExit(main: () => Promise<void>): Promise<void> {
  try {
    await main();
    // Everything is disposed; a socket that somebody forgot must not keep the process.
    process.exit(0);
  } catch (thrown) {
    const isForeseen = thrown instanceof ConfigError || isEmbeddedError(thrown);
    process.stderr.write(`${isForeseen ? thrown.message : describe(thrown)}\n`);
    process.exit(1);
  }
}

function isEmbeddedError(thrown: unknown): thrown is Error {
  return thrown instanceof Error && thrown.name === 'EmbeddedError';
}

function describe(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
}
