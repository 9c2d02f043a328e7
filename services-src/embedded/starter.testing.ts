/** Run by the tests as a process of its own, which can be killed: starts what the second argument names. */
import { lockDataDir, startNats, startPostgres } from './index.ts';

const [dataDir = '', what = 'postgres'] = process.argv.slice(2);
const logger = { info() {}, warn() {}, error() {} };
const config = 'accounts { a { jetstream: enabled, users: [{ user: u, password: p }] } }';

const stopped = new Promise((settle) => process.once('SIGTERM', settle));

await using _lock = await lockDataDir(dataDir);
await using server =
  what === 'nats'
    ? await startNats({ dataDir, config, logger })
    : await startPostgres({ dataDir, logger });
const url = 'url' in server ? server.url : server.adminUrl;
process.stdout.write(`${JSON.stringify({ pid: server.pid, url })}\n`);
await stopped;
