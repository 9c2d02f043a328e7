import { LRUCache } from 'lru-cache';

import { deadlineIn } from '#bus';
import type { Client } from '#bus';
import type { registry } from '#contracts/bus/registry';
import type { Logger } from '#telemetry';

interface ServiceKey {
  readonly orgId: string;
  readonly serviceId: string;
}

/**
 * Reports to the registry that a server's tools were used or have changed. Never throws and never
 * delays a call.
 */
export interface ToolChanges {
  /**
   * Reports that a call used the service, so that the registry reads the server's tools again if it
   * has not done so for a while.
   */
  used(service: ServiceKey): void;
  /** Reports that the server's tools have changed or seem to have changed. */
  changed(service: ServiceKey): void;
}

/**
 * The interval at which the registry reads the tools of a server in use. More frequent reports
 * would have no effect.
 */
const useReportIntervalMs = 5 * 60_000;
const servicesMax = 10_000;
const followTimeoutMs = 30_000;

/**
 * Sends reports to the registry, which then reads the server's tools again. A lost report matters
 * little, because the registry reads them every hour anyway.
 */
export function createToolChanges(
  { followTools }: Pick<Client<typeof registry>, 'followTools'>,
  logger: Logger,
): ToolChanges {
  const recentServiceIds = new LRUCache<string, true>({
    max: servicesMax,
    ttl: useReportIntervalMs,
  });
  const announceChange = ({ orgId, serviceId }: ServiceKey, isTold: boolean) => {
    recentServiceIds.set(serviceId, true);
    followTools({ orgId, serviceId, isTold }, deadlineIn(followTimeoutMs)).catch(
      (error: unknown) => {
        recentServiceIds.delete(serviceId);
        logger.warn({ err: error, serviceId }, 'tools could not be followed');
      },
    );
  };
  return {
    used(service) {
      if (!recentServiceIds.has(service.serviceId)) announceChange(service, false);
    },
    changed: (service) => announceChange(service, true),
  };
}
