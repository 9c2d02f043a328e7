/** The global symbol under which Node keeps the object that sends the requests of `fetch`. */
const dispatcherKey = Symbol.for('undici.globalDispatcher.1');

interface Dispatcher {
  dispatch(options: { origin?: string | URL }, handler: unknown): unknown;
}

/**
 * Has `fetch` open a connection for each request. A client that keeps connections may send a request
 * at the moment at which a replica that stops closes the connection, and gets no answer to it.
 */
export function keepNoConnections(): Disposable {
  return replaceDispatcher((usual) => {
    const Agent = usual.constructor as new (options: object) => Dispatcher;
    return new Agent({ pipelining: 0 });
  });
}

/**
 * Has `fetch` send requests for a deployment's public address to the one at which it listens, as
 * the proxy that ends TLS in front of it does.
 */
export function servePublicly(publicUrl: string, listensAt: string): Disposable {
  return replaceDispatcher((usual) => ({
    dispatch: (options, handler) =>
      usual.dispatch(
        String(options.origin) === publicUrl ? { ...options, origin: listensAt } : options,
        handler,
      ),
  }));
}

/** Replaces the dispatcher until it is disposed. */
function replaceDispatcher(replace: (usual: Dispatcher) => Dispatcher): Disposable {
  const holder = globalThis as unknown as Record<symbol, Dispatcher | undefined>;
  const usual = holder[dispatcherKey];
  if (usual === undefined) throw new Error('fetch keeps its dispatcher elsewhere now.');
  holder[dispatcherKey] = replace(usual);
  return {
    [Symbol.dispose]() {
      holder[dispatcherKey] = usual;
    },
  };
}
