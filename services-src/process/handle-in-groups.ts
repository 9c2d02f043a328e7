import { AsyncLocalStorage } from 'node:async_hooks';

/** How many items form a group. */
export interface GroupLimits<T> {
  /** The size of an item, in any unit. */
  readonly sizeOf: (item: T) => number;
  /** The largest sum of the sizes in a group. A larger item forms a group of its own. */
  readonly sizeMax: () => number;
  readonly itemsMax: number;
}

interface Options<T, R> extends GroupLimits<T> {
  /**
   * Handles a group and returns the result of each item, in their order. The next group does not
   * wait for a result that is a promise.
   */
  readonly handle: (group: readonly T[]) => Promise<readonly (R | Promise<R>)[]>;
  /**
   * How many items may be handled at once, each alone, before items form groups. Default 1.
   */
  readonly aloneMax?: number;
  /**
   * Whether the items of a group that failed with this error are handled again one by one, so that
   * only those fail that cannot be handled. Default: all of them fail.
   */
  readonly separatesAfter?: (error: unknown) => boolean;
}

interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (result: R | Promise<R>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Handles items in groups, one group at a time. Items that arrive while a group is being handled
 * form the next group: under load they share what a group costs, and a single item does not wait.
 * Groups are handled outside of the request or trace of any item.
 */
export function handleInGroups<T, R>(options: Options<T, R>): (item: T) => Promise<R> {
  const { handle, aloneMax = 1, separatesAfter = () => false } = options;
  const runInOwnContext = AsyncLocalStorage.snapshot();
  const limits: GroupLimits<Waiting<T, R>> = {
    ...options,
    sizeOf: ({ item }) => options.sizeOf(item),
  };
  const waiting: Waiting<T, R>[] = [];
  /** How many groups are being handled, also those of one item. */
  let handled = 0;
  let isGroupHandled = false;

  const handleGroup = async (group: readonly Waiting<T, R>[]): Promise<void> => {
    try {
      const results = await handle(group.map(({ item }) => item));
      for (const [at, { resolve }] of group.entries()) resolve(results[at] as R | Promise<R>);
    } catch (error) {
      if (group.length > 1 && separatesAfter(error))
        await Promise.all(group.map((each) => handleGroup([each])));
      else for (const { reject } of group) reject(error);
    }
  };
  const begin = (group: readonly Waiting<T, R>[]): void => {
    handled += 1;
    isGroupHandled = group.length > 1;
    void handleGroup(group).finally(() => {
      handled -= 1;
      if (handled === 0) isGroupHandled = false;
      handleWaiting();
    });
  };
  const handleWaiting = (): void => {
    if (isGroupHandled) return;
    if (waiting.length + handled <= aloneMax) {
      for (const each of waiting.splice(0)) begin([each]);
    } else if (handled === 0) {
      begin(waiting.splice(0, countFitting(waiting, limits)));
    }
  };

  return (item) =>
    new Promise<R>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      runInOwnContext(handleWaiting);
    });
}

/** The number of items that form the next group; at least one, unless there is none. */
export function countFitting<T>(
  items: readonly T[],
  { sizeOf, sizeMax, itemsMax }: GroupLimits<T>,
): number {
  const groupSizeMax = sizeMax();
  let size = 0;
  let count = 0;
  for (const item of items) {
    size += sizeOf(item);
    if (count === itemsMax || (count > 0 && size > groupSizeMax)) break;
    count += 1;
  }
  return count;
}
