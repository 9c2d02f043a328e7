import type { ServerResponse } from 'node:http';

import { AppError } from '#errors';
import { Shares, callerPath, overShare } from '#shares';
import type { CallerIds, CallerLevel, Level } from '#shares';

/** What callers have under way at this gateway, so that one who fills it leaves room for the others. */
export interface UnderWay {
  /** Counts a request until its response is closed or `Held` is disposed. Throws `rate_limited` or `unavailable`. */
  request(caller: CallerIds, response: ServerResponse): Held;
  /** Counts an open event stream until it is disposed. Throws the same. */
  stream(caller: CallerIds): Held;
}

/** A place that is given back once, however often it is disposed. */
export type Held = Disposable;

interface UnderWayLimits {
  readonly requestsMax: number;
  readonly streamsMax: number;
  readonly levels: readonly Level<CallerLevel>[];
}

/** Requests, calls that hang and answers that are held included, and event streams are two pools. */
export function createUnderWay({ requestsMax, streamsMax, levels }: UnderWayLimits): UnderWay {
  const requests = createPool(requestsMax, { levels, what: 'requests' });
  const streams = createPool(streamsMax, { levels, what: 'event streams' });
  return {
    request(caller, response) {
      const held = requests(caller);
      response.once('close', () => held[Symbol.dispose]());
      return held;
    },
    stream: streams,
  };
}

function createPool(
  capacity: number,
  { levels, what }: Pick<UnderWayLimits, 'levels'> & { what: string },
) {
  const shares = new Shares({ capacity, levels });
  return (caller: CallerIds): Held => {
    const path = callerPath(caller);
    const refusal = shares.take(path);
    if (refusal === 'pool') {
      throw new AppError('unavailable', `Too many ${what} are open; try again shortly.`);
    }
    if (refusal !== null) throw overShare(refusal, { what, component: 'gateway' });
    let isHeld = true;
    return {
      [Symbol.dispose]() {
        if (isHeld) shares.give(path);
        isHeld = false;
      },
    };
  };
}
