import { randomUUID } from 'node:crypto';

import type { Bus } from '#bus';
import { gatewayBeatSubject } from '#contracts/events';
import { onEvents } from '#events';
import { repeat } from '#process';

export interface Replicas extends AsyncDisposable {
  /** The number of gateways that share the rate limits now, including this one. */
  live(): number;
}

const beatEveryMs = 2_000;
const silentMsMax = 3 * beatEveryMs;

/**
 * Announces every two seconds that this gateway is alive, and counts the other gateways that do the
 * same.
 */
export function joinReplicas(bus: Bus): Replicas {
  const id = randomUUID();
  const heardAtById = new Map<string, number>();
  const publishBeat = (isLeaving: boolean) => {
    if (!bus.nats.isClosed()) {
      bus.nats.publish(gatewayBeatSubject, JSON.stringify({ id, leaving: isLeaving }));
    }
  };

  const beatListener = onEvents(bus, [gatewayBeatSubject], (message) => {
    const beat = message?.body as { id?: unknown; leaving?: unknown } | null | undefined;
    if (typeof beat?.id !== 'string' || beat.id === id) return;
    if (beat.leaving === true) heardAtById.delete(beat.id);
    else heardAtById.set(beat.id, performance.now());
  });
  const beatTimer = repeat(beatEveryMs, async () => {
    publishBeat(false);
    for (const [other, at] of heardAtById) {
      if (performance.now() - at > silentMsMax) heardAtById.delete(other);
    }
  });
  beatTimer.wake();

  return {
    live: () => 1 + heardAtById.size,
    async [Symbol.asyncDispose]() {
      beatListener[Symbol.dispose]();
      await beatTimer[Symbol.asyncDispose]();
      publishBeat(true);
    },
  };
}
