import type { Deadline } from '#bus';
import type { Deps } from '../deps.ts';
import type { Service } from './domain/service.ts';
import type { ChosenCredentials } from './choose-credentials.ts';

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
