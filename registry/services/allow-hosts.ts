import type { Deadline } from '#bus';
import type { ConnectedService } from '#contracts/http/services';
import type { Deps } from '../deps.ts';
import type { Service } from './domain/service.ts';
import type { ChosenCredentials } from './choose-credentials.ts';

/** The hosts that the credentials get, as the answer to connecting lists them. */
export function presentAddedHosts({
  secrets,
  connections,
}: ChosenCredentials['toAllow']): Pick<ConnectedService, 'hosts_added'> {
  const list = [
    ...secrets.map((each) => ({ kind: 'secret' as const, ...each })),
    ...connections.map((each) => ({ kind: 'connection' as const, ...each })),
  ]
    .filter(({ added }) => added.length > 0)
    .map(({ kind, reference, added }) => ({ kind, name: reference, hosts: [...added] }));
  return list.length === 0 ? {} : { hosts_added: list };
}

/**
 * Allows the chosen credentials to go to the hosts of the service. Throws `host_not_allowed` when
 * the caller may not allow that.
 */
export async function allowHosts(
  { executor }: Pick<Deps, 'executor'>,
  {
    principal,
    toAllow,
    service,
  }: Pick<ChosenCredentials, 'toAllow'> & {
    principal: string;
    service: Pick<Service, 'template' | 'baseUrl'>;
  },
  deadline: Deadline,
): Promise<void> {
  const { template, baseUrl } = service;
  const hostsRequest = { principal, template, baseUrl };
  for (const { reference, hosts } of toAllow.secrets) {
    await executor.allowSecretHosts({ ...hostsRequest, hosts: [...hosts], reference }, deadline);
  }
  for (const { reference, hosts } of toAllow.connections) {
    await executor.allowConnectionHosts(
      { ...hostsRequest, hosts: [...hosts], reference },
      deadline,
    );
  }
}
