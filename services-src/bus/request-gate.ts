import { AppError } from '#errors';
import type { Component } from '../contracts/vocabulary.ts';
import { overShare } from '../shares/index.ts';
import type { CallerLevel } from '../shares/index.ts';
import { createInFlightLimit } from './in-flight-limit.ts';

/** A place among the requests that a component handles at a time. */
export interface HeldPlace {
  /** Frees the place when the request has been answered. */
  holdUntil(answering: Promise<void>): void;
}

export interface RequestGate {
  /** Takes a place, or says why there is none. `readData` reads the request's JSON text. */
  enter(caller: Component, readData: () => Uint8Array): HeldPlace | AppError;
  /** The places that are taken now. */
  readonly taken: () => number;
  /** Resolves when the requests that are being handled have been answered. */
  settle(): Promise<void>;
}

/** Limits the requests that a component handles at a time, whichever way they come. */
export function createRequestGate(owner: Component, inFlightMax: number): RequestGate {
  const inFlight = new Set<Promise<void>>();
  const inFlightLimit = createInFlightLimit(inFlightMax);
  return {
    enter(caller, readData) {
      const message = {
        get data() {
          return readData();
        },
      };
      const place = inFlightLimit.take(message, caller);
      if (typeof place === 'string') return refusalError(owner, place);
      return {
        holdUntil(answering) {
          inFlight.add(answering);
          void answering.finally(() => {
            inFlight.delete(answering);
            place[Symbol.dispose]();
          });
        },
      };
    },
    taken: inFlightLimit.taken,
    async settle() {
      await Promise.allSettled(inFlight);
    },
  };
}

function refusalError(component: Component, fullLevel: CallerLevel | 'pool'): AppError {
  if (fullLevel !== 'pool') return overShare(fullLevel, { what: 'requests', component });
  return new AppError('unavailable', `The ${component} component is busy.`, {
    details: { component, busy: true },
  });
}
