import type { Bus } from '#bus';
import { clientGone, clientGoneSubject } from '#contracts/events';
import { readTolerantly } from '#contracts/tolerant';
import { onEvents } from '#events';
import type { Disconnects, FollowedRead } from '../deps.ts';

/**
 * Listens for the gateway's messages that a client has disconnected. One subscription serves all
 * reads under way in this process.
 */
export function watchDisconnects(bus: Bus): Disconnects & Disposable {
  const controllersByAuditId = new Map<string, AbortController>();
  const eventListener = onEvents(bus, [clientGoneSubject], (message) => {
    const parseResult = readTolerantly(clientGone, message?.body);
    if (parseResult.success) controllersByAuditId.get(parseResult.data.auditId)?.abort();
  });
  return {
    follow(auditId): FollowedRead {
      const disconnectController = new AbortController();
      controllersByAuditId.set(auditId, disconnectController);
      return {
        signal: disconnectController.signal,
        [Symbol.dispose]() {
          if (controllersByAuditId.get(auditId) === disconnectController)
            controllersByAuditId.delete(auditId);
        },
      };
    },
    [Symbol.dispose]: () => eventListener[Symbol.dispose](),
  };
}
