/** Passes each item on to all listeners that are subscribed when the item arrives. */
export interface Listeners<Item> extends Disposable {
  subscribe(listener: (item: Item) => void): Disposable;
  notify(item: Item): void;
}

export function createListeners<Item>(): Listeners<Item> {
  const listeners = new Set<(item: Item) => void>();
  return {
    subscribe(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    notify(item) {
      for (const listener of listeners) listener(item);
    },
    [Symbol.dispose]: () => listeners.clear(),
  };
}
