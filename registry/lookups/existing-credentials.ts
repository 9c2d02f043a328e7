import type { Deadline } from '#bus';
import type { Deps } from '../deps.ts';
import type {
  Credentials,
  ExistingConnection,
  ExistingCredentials,
  ExistingSecret,
} from '../domain/credentials.ts';

/** What the executor takes in one request. */
const namesMax = 20;

interface Wanted {
  readonly orgId: string;
  readonly userId: string;
  readonly secrets: Iterable<string>;
  readonly connections: Iterable<string>;
}

/** Which of these references name a credential that exists for the user. Values are not asked for and never come. */
export async function findExisting(
  executor: Deps['executor'],
  { orgId, userId, secrets: secretNames, connections: connectionNames }: Wanted,
  deadline: Deadline,
): Promise<ExistingCredentials> {
  const secrets = new Map<string, ExistingSecret>();
  const connections = new Map<string, ExistingConnection>();
  for (const names of batchesOf(secretNames)) {
    const found = await executor.describeSecrets({ orgId, userId, names }, deadline);
    for (const { asked, reference, allowedHosts } of found.secrets) {
      secrets.set(asked, { reference, allowedHosts });
    }
  }
  for (const names of batchesOf(connectionNames)) {
    const found = await executor.describeConnections({ orgId, userId, names }, deadline);
    for (const { asked, reference, allowedHosts, provider, status, authUrl } of found.connections) {
      connections.set(asked, { reference, allowedHosts, provider, status, authUrl });
    }
  }
  return { secrets, connections };
}

/** The credentials of services that are there. */
export function findCredentialsOf(
  executor: Deps['executor'],
  { orgId, userId, services }: { orgId: string; userId: string; services: readonly Credentials[] },
  deadline: Deadline,
): Promise<ExistingCredentials> {
  const secrets = services.flatMap((service) => Object.values(service.secrets));
  const connections = services.flatMap(({ connection }) =>
    connection === null ? [] : [connection],
  );
  return findExisting(executor, { orgId, userId, secrets, connections }, deadline);
}

function batchesOf(names: Iterable<string>): string[][] {
  const all = [...new Set(names)];
  const count = Math.ceil(all.length / namesMax);
  return Array.from({ length: count }, (_, at) => all.slice(at * namesMax, (at + 1) * namesMax));
}
