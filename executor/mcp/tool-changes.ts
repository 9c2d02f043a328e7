import { LRUCache } from 'lru-cache';

import { deadlineIn } from '#bus';
import type { Client } from '#bus';
import type { registry } from '#contracts/bus/registry';
import type { Logger } from '#telemetry';

interface OfService {
  readonly orgId: string;
  readonly serviceId: string;
}

/** What calls notice of the tools of their servers. Never fails, and keeps no call waiting. */
export interface ToolChanges {
  /** A call has used them: they may be due to be read again. */
  used(service: OfService): void;
  /** The server said or showed that they are not what they were. */
  changed(service: OfService): void;
}

/** The registry asks a server that is in use at most this often; asking it more often would be for nothing. */
const usedEveryMs = 5 * 60_000;
const servicesMax = 10_000;
const followMs = 30_000;

/** Tells the registry, which asks the server and keeps what it finds. What gets lost is found within the hour. */
export function createToolChanges(
  { followTools }: Pick<Client<typeof registry>, 'followTools'>,
  logger: Logger,
): ToolChanges {
  const recent = new LRUCache<string, true>({ max: servicesMax, ttl: usedEveryMs });
  const tell = ({ orgId, serviceId }: OfService, isTold: boolean) => {
    recent.set(serviceId, true);
    followTools({ orgId, serviceId, isTold }, deadlineIn(followMs)).catch((error: unknown) => {
      recent.delete(serviceId);
      logger.warn({ err: error, serviceId }, 'tools could not be followed');
    });
  };
  return {
    used(service) {
      if (!recent.has(service.serviceId)) tell(service, false);
    },
    changed: (service) => tell(service, true),
  };
}
