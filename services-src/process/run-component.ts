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

/** The settings of health and telemetry, which every process reads. */
export const processSettings = [
  'HEALTH_PORT',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_TRACES_SAMPLER_ARG',
  'OTEL_METRICS_EXPORTER',
  'OTEL_RESOURCE_ATTRIBUTES',
] as const satisfies readonly SettingName[];

interface ObservedProcess {
  readonly serviceName: string;
  readonly config: Config<(typeof processSettings)[number]>;
  /** The address at which health is served; every address when it is left out. */
  readonly healthHost?: string;
  readonly failingChecks: () => readonly string[] | undefined;
}

/** Starts telemetry, and serves health and metrics at HEALTH_PORT where it is set. */
export async function startObserving({
  serviceName,
  config,
  healthHost,
  failingChecks,
}: ObservedProcess): Promise<AsyncDisposable> {
  await using startup = new AsyncDisposableStack();
  const { HEALTH_PORT: port } = config;
  const telemetry = await startTelemetry({
    serviceName,
    endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
    resourceAttributes: config.OTEL_RESOURCE_ATTRIBUTES,
    sampleRatio: config.OTEL_TRACES_SAMPLER_ARG,
    // Without the port nobody can read the metrics, so they are not recorded.
    metricsExporters: config.OTEL_METRICS_EXPORTER.filter(
      (name) => name !== 'prometheus' || port !== undefined,
    ),
  });
  startup.use(telemetry);
  const { renderMetrics } = telemetry;
  if (port !== undefined) {
    const host = healthHost === undefined ? {} : { host: healthHost };
    startup.use(await serveHealth({ port, ...host, failingChecks, renderMetrics }));
  }
  return startup.move();
}

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
    let component: RunningComponent | undefined;
    runningResources.use(
      await startObserving({
        serviceName: `gateway-${spec.component}`,
        config: ownConfig,
        failingChecks: () => component?.readiness.failing(),
      }),
    );
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
