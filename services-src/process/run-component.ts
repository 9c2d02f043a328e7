import { ConfigError, listStrayVariables, loadConfig } from '#config';
import type { Config, ConfigSpec, Environment, SettingName } from '#config';
import { startTelemetry } from '#telemetry';
import type { Logger } from '#telemetry';
import type { Readiness } from '../readiness/readiness.ts';
import { describeDatabaseFailure } from './database-failure.ts';
import { serveHealth } from './health.ts';
import { waitForStopSignal } from './stop.ts';

export type RunningComponent = AsyncDisposable & {
  readonly logger: Logger;
  readonly readiness: Pick<Readiness, 'failing' | 'leave'>;
};

/** The settings that every component's process reads. */
const processSettings = [
  'HEALTH_PORT',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_TRACES_SAMPLER_ARG',
] as const satisfies readonly SettingName[];

/**
 * Runs a component as a process: reads its settings, starts it, waits for a signal, and stops it.
 */
export async function runComponent<N extends SettingName>(
  spec: ConfigSpec<N>,
  start: (config: Config<N>) => Promise<RunningComponent>,
): Promise<void> {
  await runOrExit(async () => {
    const ownConfig = loadConfig(
      { component: spec.component, names: processSettings },
      process.env,
    );
    const config = loadConfig(spec, process.env);
    // Waits for signals already before the start, so that a signal during the start stops the
    // component once it has started.
    const stopSignal = waitForStopSignal();
    await using runningResources = new AsyncDisposableStack();
    runningResources.use(
      await startTelemetry({
        serviceName: `gateway-${spec.component}`,
        endpoint: ownConfig.OTEL_EXPORTER_OTLP_ENDPOINT,
        sampleRatio: ownConfig.OTEL_TRACES_SAMPLER_ARG,
      }),
    );
    let component: RunningComponent | undefined;
    if (ownConfig.HEALTH_PORT !== undefined) {
      runningResources.use(await serveHealth(ownConfig.HEALTH_PORT, () => component?.readiness));
    }
    component = runningResources.use(await start(config));
    warnOfStrayVariables(component.logger, process.env);
    const signal = await stopSignal;
    component.logger.info({ signal }, 'stopping');
    component.readiness.leave();
  });
}

/** Logs the names of variables that begin like settings of the gateway and have no effect. */
export function warnOfStrayVariables(logger: Pick<Logger, 'warn'>, environment: Environment): void {
  const variables = listStrayVariables(environment);
  if (variables.length === 0) return;
  logger.warn({ variables }, 'these environment variables are no settings of the gateway');
}

/**
 * Runs `main`. A wrong setting or another foreseen failure ends the process with a message for
 * people instead of a stack.
 */
export async function runOrExit(main: () => Promise<void>): Promise<void> {
  try {
    await main();
    // Everything is disposed; a forgotten socket must not keep the process running.
    process.exit(0);
  } catch (error) {
    const isForeseen = error instanceof ConfigError || isEmbeddedError(error);
    const failureSentence = isForeseen ? error.message : describeDatabaseFailure(error);
    process.stderr.write(`${failureSentence ?? describeError(error)}\n`);
    process.exit(1);
  }
}

function isEmbeddedError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'EmbeddedError';
}

function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
