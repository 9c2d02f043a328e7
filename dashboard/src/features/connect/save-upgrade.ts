import type { ConnectedService } from '#contracts/http/services';
import { upgradeService } from '../services/services.queries.ts';
import { referenceOf } from './connect-view.ts';
import type { ConnectionWay } from './connect-view.ts';
import { usesAll } from './held.ts';
import type { ServiceUpgrade } from './held.ts';

export interface ChosenCredentials {
  readonly variables?: Record<string, string>;
  readonly credentials: { secrets?: Record<string, string>; connection?: string };
}

/**
 * Upgrades the service to the version. If credentials are named in the request, they may be sent to
 * every host of the service from then on.
 */
export async function saveUpgrade(
  { service, held }: ServiceUpgrade,
  {
    version,
    chosen: { credentials, ...rest },
    isNaming,
    way,
  }: { version: number; chosen: ChosenCredentials; isNaming: boolean; way: ConnectionWay },
): Promise<ConnectedService> {
  const names =
    Object.keys(credentials).length > 0 && (isNaming || !usesAll(way, service, held))
      ? { credentials }
      : {};
  const reference = referenceOf(service.name, service.tier);
  return (await upgradeService({ reference, body: { version, ...rest, ...names } })).service;
}
