/**
 * The global symbol under which Node stores the dispatcher: the object that sends the requests of
 * `fetch`.
 */
const dispatcherKey = Symbol.for('undici.globalDispatcher.1');

interface Dispatcher {
  dispatch(options: { origin?: string | URL }, handler: unknown): unknown;
}

/**
 * Makes `fetch` open a new connection for each request. Otherwise a client may send a request on a
 * kept connection just when a stopping replica closes the connection. Then the client gets no
 * answer.
 */
export function keepNoConnections(): Disposable {
  return replaceDispatcher((usual) => {
    const Agent = usual.constructor as new (options: object) => Dispatcher;
    return new Agent({ pipelining: 0 });
  });
}

/**
 * Makes `fetch` send the requests for a deployment's public URL to the address at which the
 * deployment listens. In production, the proxy that ends TLS does this.
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

/** Replaces the dispatcher of `fetch`. Disposing the result restores the usual dispatcher. */
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
