/** The settings that differ between the NATS server of `npm start` and that of an operator. */
export interface NatsServerConfig {
  /** The address to listen on; by default all of them. */
  readonly host?: string;
  /** The port for clients; -1 lets the system choose. */
  readonly port: number;
  /** The port at which a supervisor can ask for the server's state; none when not set. */
  readonly monitorPort?: number;
  /** The folder of the streams, or `$NAME` of the environment variable that holds it. */
  readonly storeDir: string;
  /**
   * The limit of streams in memory. Without it or `filesMax`, the server chooses a limit for the
   * machine.
   */
  readonly memoryMax?: string;
  readonly filesMax?: string;
  readonly pidFile?: string;
  /** Accounts, users and their permissions, in the server's own notation. */
  readonly accounts: string;
}

/** Options of every NATS server of an installation, in the server's own notation. */
export const natsServerOptions = {
  // More than the largest body that a setting can allow, which is 4,000,000 bytes.
  max_payload: '4MB',
  lame_duck_duration: '"30s"',
  lame_duck_grace_period: '"5s"',
} as const;

/**
 * Options of the streams of every NATS server. Stored messages are on the disk after this time at
 * the latest.
 */
export const natsStreamOptions = { sync_interval: '"10s"' } as const;

/**
 * Writes the configuration of a NATS server. It is the same for `npm start`, the tests and
 * `deploy/nats.conf`, except for ports, folders and sizes.
 */
export function renderNatsConfig(config: NatsServerConfig): string {
  const { host, port, monitorPort, storeDir, memoryMax, filesMax, pidFile, accounts } = config;
  const joinLines = (givenLines: readonly (string | undefined)[]) =>
    givenLines.filter((line) => line !== undefined).join('\n');
  return `${joinLines([
    host && `host: "${host}"`,
    `port: ${port}`,
    monitorPort === undefined ? undefined : `http_port: ${monitorPort}`,
    pidFile && `pid_file: "${pidFile}"`,
    ...listOptions(natsServerOptions),
    'jetstream {',
    `  store_dir: ${storeDir.startsWith('$') ? storeDir : `"${storeDir}"`}`,
    memoryMax && `  max_memory_store: ${memoryMax}`,
    filesMax && `  max_file_store: ${filesMax}`,
    ...listOptions(natsStreamOptions).map((line) => `  ${line}`),
    '}',
  ])}\n${accounts}`;
}

function listOptions(options: Readonly<Record<string, string>>): string[] {
  return Object.entries(options).map(([name, value]) => `${name}: ${value}`);
}
