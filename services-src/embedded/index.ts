/** Real Postgres and NATS as child processes, for running the whole product with one command. */
export { EmbeddedError } from './embedded-error.ts';
export { openKeyFile } from './key-file.ts';
export { lockDataDir } from './data-dir-lock.ts';
export type { EmbeddedLogger } from './server-process.ts';
export { findLastingPort as lastingPort, keepPort } from './lasting-port.ts';
export { startNats } from './nats.ts';
export { natsServerOptions, natsStreamOptions, renderNatsConfig } from './nats-config.ts';
export type { EmbeddedNats, StartNatsOptions } from './nats.ts';
export { createDatabase } from './postgres-client.ts';
export { checkCanStartPostgres, startPostgres } from './postgres.ts';
export type { EmbeddedPostgres, StartPostgresOptions } from './postgres.ts';
export { databaseName, findRunningInstallation as findRunning } from './running.ts';
