import { observe } from './metrics.ts';

interface Slots {
  readonly used: () => number;
  readonly limit: number;
}

/** Reports how many places of a pool are taken, and how many there are. */
export function observeSlots(pool: string, { used, limit }: Slots): Disposable {
  const stack = new DisposableStack();
  stack.use(observe('aag.slots.used', () => [{ value: used(), labels: { pool } }]));
  stack.use(observe('aag.slots.limit', () => [{ value: limit, labels: { pool } }]));
  return stack;
}
