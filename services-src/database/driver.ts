import { registerHooks } from 'node:module';

/**
 * The driver `postgres` 3.4.9, repaired as it is loaded (docs/adr/0027): as published, it does not
 * survive that the server goes away under a transaction.
 */
interface Repair {
  /** End of the module's URL. */
  readonly file: string;
  /** Stands there exactly as often as `times` says, or else the driver is another one. */
  readonly published: string;
  readonly times: number;
  readonly repaired: string;
}

const repairs: readonly Repair[] = [
  {
    // What waited to be written to a socket that has closed is void. Kept, it would be taken for
    // a write that is on its way, and the connection would never write, nor connect, again.
    file: '/postgres/src/connection.js',
    published: '\n    clearImmediate(nextWriteTimer)\n',
    times: 2,
    repaired: '\n    clearImmediate(nextWriteTimer)\n    chunk = nextWriteTimer = null\n',
  },
  {
    // Without a socket a statement fails; it must not end the process from a timer.
    file: '/postgres/src/connection.js',
    published: 'const x = socket.write(chunk, fn)',
    times: 1,
    repaired: `if (!socket) {
      clearImmediate(nextWriteTimer)
      chunk = nextWriteTimer = null
      error(Errors.connection('CONNECTION_CLOSED', options, socket))
      return true
    }
    const x = socket.write(chunk, fn)`,
  },
  {
    // A session that ends during its first query, which is the driver's own, is reported to whoever
    // waits for it; nobody waits for that query.
    file: '/postgres/src/connection.js',
    published: 'return fetchArrayTypes()\n',
    times: 1,
    repaired: 'return fetchArrayTypes().catch(() => undefined)\n',
  },
  {
    // Statements that came between a socket's error and its close are waited for as well.
    file: '/postgres/src/connection.js',
    published: '!hadError && (query || sent.length) && error(',
    times: 1,
    repaired: 'if (query || sent.length) error(',
  },
  {
    // What the ended session was doing is no answer to what the next one is asked.
    file: '/postgres/src/connection.js',
    published: 'closedTime = performance.now()\n',
    times: 1,
    repaired: 'closedTime = performance.now()\n    query = results = errorResponse = null\n',
  },
  {
    // A transaction ends with its session, for its later statements too. They, or its rollback,
    // would otherwise be executed in the session that the connection has had since: outside of
    // any transaction, or inside of somebody else's.
    file: '/postgres/src/index.js',
    published: 'new Promise((_, reject) => connection.onclose = reject)',
    times: 1,
    repaired: `new Promise((_, reject) => connection.onclose = error => {
          lost = error
          while (queries.length)
            queries.shift().reject(error)
          reject(error)
        })`,
  },
  {
    file: '/postgres/src/index.js',
    published: 'let savepoints = 0\n      , connection\n',
    times: 1,
    repaired: 'let savepoints = 0\n      , lost\n      , connection\n',
  },
  {
    file: '/postgres/src/index.js',
    published: 'q.catch(e => uncaughtError || (uncaughtError = e))\n',
    times: 1,
    repaired:
      'q.catch(e => uncaughtError || (uncaughtError = e))\n        if (lost)\n          return q.reject(lost)\n',
  },
];

const applied = new Set<Repair>();
const hooks = registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const ofFile = repairs.filter(({ file }) => url.endsWith(file));
    if (ofFile.length === 0) return loaded;
    let source = Buffer.from(loaded.source as Uint8Array).toString();
    for (const repair of ofFile) {
      const parts = source.split(repair.published);
      if (parts.length !== repair.times + 1) continue;
      source = parts.join(repair.repaired);
      applied.add(repair);
    }
    return { ...loaded, source };
  },
});
const driver = await import('postgres');
hooks.deregister();
if (applied.size < repairs.length) {
  throw new Error(
    'The Postgres driver is not the one that services-src/database/driver.ts repairs, or was loaded before it.',
  );
}

export const postgres = driver.default;
/** What a statement that the server refused is rejected with. */
export const { PostgresError } = postgres;
