import { randomUUID } from 'node:crypto';

import type { Bus } from '#bus';
import { gatewayBeatSubject } from '#contracts/events';
import { onEvents } from '#events';
import { repeat } from '#process';

export interface Replicas extends AsyncDisposable {
  /** How many gateways share the rate limits just now, this one included. */
  live(): number;
}

const beatEveryMs = 2_000;
const silentMsMax = 3 * beatEveryMs;

/** Says every two seconds that this gateway lives, and counts who else does. */
export function joinReplicas(bus: Bus): Replicas {
  const id = randomUUID();
  const heardAt = new Map<string, number>();
  const say = (leaving: boolean) => {
    if (!bus.nats.isClosed()) {
      bus.nats.publish(gatewayBeatSubject, JSON.stringify({ id, leaving }));
    }
  };

  const listening = onEvents(bus, [gatewayBeatSubject], (message) => {
    const beat = message?.body as { id?: unknown; leaving?: unknown } | null | undefined;
    if (typeof beat?.id !== 'string' || beat.id === id) return;
    if (beat.leaving === true) heardAt.delete(beat.id);
    else heardAt.set(beat.id, performance.now());
  });
  const beating = repeat(beatEveryMs, async () => {
    say(false);
    for (const [other, at] of heardAt) {
      if (performance.now() - at > silentMsMax) heardAt.delete(other);
    }
  });
  beating.wake();

  return {
    live: () => 1 + heardAt.size,
    async [Symbol.asyncDispose]() {
      listening[Symbol.dispose]();
      await beating[Symbol.asyncDispose]();
      say(true);
    },
  };
}
