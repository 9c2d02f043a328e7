import type { ServerResponse } from 'node:http';

import { AppError } from '#errors';
import { Shares, callerPath, overShare } from '#shares';
import type { CallerIds, CallerLevel, Level } from '#shares';

/**
 * Counts the open requests and event streams of each caller, so that one caller cannot use all
 * capacity.
 */
export interface RequestSlots {
  /**
   * Takes a slot, which is released when the response closes or the slot is disposed. Throws
   * `rate_limited` or `unavailable` if no slot is free for this caller.
   */
  request(caller: CallerIds, response: ServerResponse): Slot;
  /**
   * Takes a slot for an event stream, which is released when the slot is disposed. Throws the same
   * errors as `request`.
   */
  stream(caller: CallerIds): Slot;
  /** The slots that are taken now. */
  taken(): { readonly requests: number; readonly streams: number };
}

/** Disposing a slot releases it; disposing it a second time has no effect. */
export type Slot = Disposable;

interface SlotLimits {
  readonly requestsMax: number;
  readonly streamsMax: number;
  readonly levels: readonly Level<CallerLevel>[];
}

/**
 * Creates two pools of slots: one for requests (including waiting calls), one for event streams.
 */
export function createRequestSlots({ requestsMax, streamsMax, levels }: SlotLimits): RequestSlots {
  const requests = createPool(requestsMax, { levels, what: 'requests' });
  const streams = createPool(streamsMax, { levels, what: 'event streams' });
  return {
    request(caller, response) {
      const slot = requests.take(caller);
      response.once('close', () => slot[Symbol.dispose]());
      return slot;
    },
    stream: streams.take,
    taken: () => ({ requests: requests.taken(), streams: streams.taken() }),
  };
}

function createPool(
  capacity: number,
  { levels, what }: Pick<SlotLimits, 'levels'> & { what: string },
) {
  const shares = new Shares({ capacity, levels });
  const take = (caller: CallerIds): Slot => {
    const path = callerPath(caller);
    const refusal = shares.take(path);
    if (refusal === 'pool') {
      throw new AppError('unavailable', `Too many ${what} are open; try again shortly.`);
    }
    if (refusal !== null) throw overShare(refusal, { what, component: 'gateway' });
    let isTaken = true;
    return {
      [Symbol.dispose]() {
        if (isTaken) shares.give(path);
        isTaken = false;
      },
    };
  };
  return { take, taken: () => shares.held };
}
