import type { Bus } from '#bus';
import { clientGone, clientGoneSubject } from '#contracts/events';
import { onEvents } from '#events';
import type { Disconnects, Followed } from './deps.ts';

/** Hears of clients that have gone, on one subscription for all reads under way here. */
export function watchDisconnects(bus: Bus): Disconnects & Disposable {
  const underWay = new Map<string, AbortController>();
  const listening = onEvents(bus, [clientGoneSubject], (message) => {
    const parsed = clientGone.safeParse(message?.body);
    if (parsed.success) underWay.get(parsed.data.auditId)?.abort();
  });
  return {
    follow(auditId): Followed {
      const gone = new AbortController();
      underWay.set(auditId, gone);
      return {
        signal: gone.signal,
        [Symbol.dispose]() {
          if (underWay.get(auditId) === gone) underWay.delete(auditId);
        },
      };
    },
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
}
