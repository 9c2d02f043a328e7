/**
 * Rejects when the work has not ended within this time. After the time is up, the work still gets a
 * turn of the event loop: when this process itself was busy, an answer that arrived in time may not
 * have been read yet.
 */
export function settleWithin<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      setImmediate(() => setImmediate(() => reject(new Error(`No answer in ${ms} ms.`))));
    }, ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
