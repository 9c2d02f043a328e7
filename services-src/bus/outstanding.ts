/** Requests for the same thing that are under way together. */
export interface OutstandingRequests<T> {
  readonly size: number;
  /** Adds a request, which must not reject. */
  add(request: Promise<T>): void;
  /**
   * Resolves with the next answer, and removes its request; or with the value of `other`, if that
   * resolves first. When several answers come in the same turn, the remaining ones stay for the
   * next calls.
   */
  takeNext<O>(other: Promise<O>): Promise<{ readonly answer: T } | { readonly other: O }>;
}

export function openOutstandingRequests<T>(): OutstandingRequests<T> {
  const requests = new Set<Promise<{ readonly answer: T; remove(): void }>>();
  return {
    get size() {
      return requests.size;
    },
    add(request) {
      const entry = request.then((answer) => ({
        answer,
        remove: () => void requests.delete(entry),
      }));
      requests.add(entry);
    },
    async takeNext(other) {
      const first = await Promise.race([...requests, other.then((value) => ({ other: value }))]);
      if ('other' in first) return first;
      first.remove();
      return { answer: first.answer };
    },
  };
}
