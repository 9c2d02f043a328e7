/**
 * The tests run this as a separate process that they can kill. It starts the server that the second
 * argument names.
 */
import { lockDataDir, startNats, startPostgres } from './index.ts';

const [dataDir = '', what = 'postgres'] = process.argv.slice(2);
const logger = { info() {}, warn() {}, error() {} };
const config = 'accounts { a { jetstream: enabled, users: [{ user: u, password: p }] } }';

const stopSignal = new Promise((settle) => process.once('SIGTERM', settle));

await using _lock = await lockDataDir(dataDir);
await using server =
  what === 'nats'
    ? await startNats({ dataDir, config, logger })
    : await startPostgres({ dataDir, logger });
const url = 'url' in server ? server.url : server.adminUrl;
process.stdout.write(`${JSON.stringify({ pid: server.pid, url })}\n`);
await stopSignal;
