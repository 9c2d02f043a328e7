import type { z } from 'zod';

import type { requestedConnection } from '#contracts/http/connections';
import type { ConnectedService } from '#contracts/http/services';
import type { Api } from './api.ts';
import type { RestCall } from './command.ts';
import { readPairs } from './input.ts';
import type { Answer } from './output.ts';

interface ConnectOptions {
  readonly name?: string;
  readonly secret?: readonly string[];
  readonly account?: true;
  readonly connection?: string;
  readonly variable?: readonly string[];
  readonly baseUrl?: string;
  readonly askForReads?: true;
  readonly org?: true;
}

/**
 * `action-gateway services connect <template>`: creates a service from a template. With `--account`
 * it first requests access to an account from the provider, and prints where the person can agree.
 */
export async function connectService({
  api,
  args: [template = ''],
  options,
}: RestCall<ConnectOptions>): Promise<Answer> {
  const { name, secret, account, connection, variable, baseUrl, askForReads, org } = options;
  const tier = org === undefined ? {} : { tier: 'org' };
  const secrets = secret && readPairs(secret, '--secret', 'scheme=name');
  const variables = variable && readPairs(variable, '--variable', 'name=value');
  const accountRequest = account && (await requestAccount(api, { template, ...tier }));
  const connectionReference = connection ?? accountRequest?.reference;
  const credentials = {
    ...(secrets !== undefined && { secrets }),
    ...(connectionReference !== undefined && { connection: connectionReference }),
  };
  const service = await api.request<ConnectedService>('POST', '/v1/services', {
    body: {
      template,
      ...(name !== undefined && { name }),
      ...(Object.keys(credentials).length > 0 && { credentials }),
      ...(variables !== undefined && { variables }),
      ...(baseUrl !== undefined && { base_url: baseUrl }),
      ...(askForReads !== undefined && { auto_allow_reads: false }),
      ...tier,
    },
  });
  return {
    data: { ...service, ...(accountRequest && { authorization_url: accountRequest.url }) },
    show: {
      facts: [
        ['service', service.name],
        ['status', service.status],
        ['address', service.base_url],
        ['actions', service.actions_count],
      ],
    },
    note:
      [
        ...describeAddedHosts(service),
        ...(accountRequest === undefined ? [] : [`Agree in your browser: ${accountRequest.url}`]),
      ].join('\n') || undefined,
  };
}

/** Says to which hosts the credentials of the service may now also go. */
export function describeAddedHosts({ hosts_added: added = [] }: ConnectedService): string[] {
  return added.map(({ name, hosts }) => `${name} may now also go to ${hosts.join(', ')}.`);
}

async function requestAccount(api: Api, body: { readonly template: string }) {
  const path = '/v1/connections';
  const {
    name,
    tier,
    authorization_url: url,
  } = await api.request<z.infer<typeof requestedConnection>>('POST', path, { body });
  return { url, reference: tier === 'org' ? `org/${name}` : name };
}
