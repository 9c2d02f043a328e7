import type { Bus } from '#bus';
import { onEvents } from '#events';
import { executorBeat, executorBeatSubject } from '../contracts/events.ts';
import { callMarkOf } from './call-mark.ts';

/**
 * When a timer fires more than this too late, in milliseconds, this process itself was blocked.
 * Beats that arrived meanwhile are still unread, so the follower waits for the same time again
 * before it reports silence.
 */
const lateMsMax = 250;

/** A call that this process has sent to an executor. Dispose it when the call has been answered. */
export interface FollowedCall extends Disposable {
  /**
   * Resolves when no executor has named the call for `silentMs`. The time counts from the request,
   * from the last beat that named the call, or from the last silence that this function reported.
   * An executor that has taken a call names it every half second. Only one wait at a time is
   * allowed.
   */
  untilSilent(silentMs: number): Promise<'silent'>;
}

export interface ExecutorFollower extends Disposable {
  follow(auditId: string): FollowedCall;
}

interface FollowedEntry {
  readonly callMark: string;
  heardAt: number;
}

/** Listens to the beats of all executors for the calls that this process follows. */
export function followExecutors(bus: Bus): ExecutorFollower {
  const followedByMark = new Map<string, FollowedEntry>();
  const listener = onEvents(bus, [executorBeatSubject], (message) => {
    const heardAt = performance.now();
    if (message === null) {
      // No beat could arrive while the bus was disconnected, so silence counts from now on.
      for (const entry of followedByMark.values()) entry.heardAt = heardAt;
      return;
    }
    const beat = executorBeat.safeParse(message.body);
    if (!beat.success) return;
    for (const mark of beat.data.calls) {
      const entry = followedByMark.get(mark);
      if (entry !== undefined) entry.heardAt = heardAt;
    }
  });
  return {
    follow(auditId) {
      const entry: FollowedEntry = { callMark: callMarkOf(auditId), heardAt: performance.now() };
      followedByMark.set(entry.callMark, entry);
      const timer = createSilenceTimer();
      return {
        untilSilent: (silentMs) => timer.untilSilent(entry, silentMs),
        [Symbol.dispose]() {
          timer.stop();
          if (followedByMark.get(entry.callMark) === entry) followedByMark.delete(entry.callMark);
        },
      };
    },
    [Symbol.dispose]: () => listener[Symbol.dispose](),
  };
}

function createSilenceTimer() {
  let timer: NodeJS.Timeout | undefined;
  return {
    untilSilent: (entry: FollowedEntry, silentMs: number) =>
      new Promise<'silent'>((resolve) => {
        const waitUntil = (dueAt: number) => {
          clearTimeout(timer);
          timer = setTimeout(() => checkSilence(dueAt), dueAt - performance.now());
        };
        const checkSilence = (dueAt: number) => {
          const now = performance.now();
          const silentAt = entry.heardAt + silentMs;
          if (silentAt > now) return waitUntil(silentAt);
          if (now - dueAt > lateMsMax) return waitUntil(now + lateMsMax);
          entry.heardAt = now;
          resolve('silent');
        };
        waitUntil(entry.heardAt + silentMs);
      }),
    stop: () => clearTimeout(timer),
  };
}
