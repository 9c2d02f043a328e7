import type { Bus } from '#bus';
import { repeat } from '#process';
import { beatCallsMax, executorBeatSubject } from '../contracts/events.ts';
import { callMarkOf } from './call-mark.ts';

export const beatEveryMs = 500;

export interface CallsInHand {
  /**
   * Names the call in every beat from now on. Dispose the result when the call has been answered.
   */
  hold(auditId: string): Disposable;
}

/**
 * Publishes every half second which calls this executor handles; while it handles none, it
 * publishes nothing. The bus lets an executor handle about a thousand requests at a time, so the
 * beats name at most that many calls.
 */
export function startExecutorBeats(bus: Bus): CallsInHand & AsyncDisposable {
  // The executor may handle the same call twice at a time, so each entry is an object of its own.
  const callsInHand = new Set<{ readonly auditId: string }>();
  const beatTimer = repeat(beatEveryMs, async () => {
    if (bus.nats.isClosed()) return;
    const marks = [...callsInHand].map(({ auditId }) => callMarkOf(auditId));
    for (let start = 0; start < marks.length; start += beatCallsMax) {
      const calls = marks.slice(start, start + beatCallsMax);
      bus.nats.publish(executorBeatSubject, JSON.stringify({ calls }));
    }
  });
  return {
    hold(auditId) {
      const entry = { auditId };
      callsInHand.add(entry);
      return { [Symbol.dispose]: () => void callsInHand.delete(entry) };
    },
    [Symbol.asyncDispose]: () => beatTimer[Symbol.asyncDispose](),
  };
}
