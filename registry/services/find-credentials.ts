import type { Deadline } from '#bus';
import type { Deps } from '../deps.ts';
import type {
  Credentials,
  ExistingConnection,
  ExistingCredentials,
  ExistingSecret,
} from './domain/credentials.ts';

/** The executor accepts at most this many references per request. */
const namesPerRequestMax = 20;

interface WantedReferences {
  readonly orgId: string;
  readonly userId: string;
  readonly secrets: Iterable<string>;
  readonly connections: Iterable<string>;
}

/**
 * Asks the executor which references belong to existing credentials of the user. The executor never
 * returns the values of credentials.
 */
export async function findCredentials(
  executor: Deps['executor'],
  { orgId, userId, secrets: secretNames, connections: connectionNames }: WantedReferences,
  deadline: Deadline,
): Promise<ExistingCredentials> {
  const secrets = new Map<string, ExistingSecret>();
  const connections = new Map<string, ExistingConnection>();
  for (const nameBatch of splitIntoBatches(secretNames)) {
    const descriptions = await executor.describeSecrets(
      { orgId, userId, names: nameBatch },
      deadline,
    );
    for (const { asked, reference, allowedHosts, refusedAt = null } of descriptions.secrets) {
      secrets.set(asked, { reference, allowedHosts, refusedAt });
    }
  }
  for (const nameBatch of splitIntoBatches(connectionNames)) {
    const descriptions = await executor.describeConnections(
      { orgId, userId, names: nameBatch },
      deadline,
    );
    for (const {
      asked,
      reference,
      allowedHosts,
      provider,
      actsAs = null,
      pin = null,
      status,
      authUrl,
      refusedAt = null,
    } of descriptions.connections) {
      const state = { provider, actsAs, pin, status, authUrl, refusedAt };
      connections.set(asked, { reference, allowedHosts, ...state });
    }
  }
  return { secrets, connections };
}

/** Finds which credentials of these services exist. */
export function findCredentialsOfServices(
  executor: Deps['executor'],
  { orgId, userId, services }: { orgId: string; userId: string; services: readonly Credentials[] },
  deadline: Deadline,
): Promise<ExistingCredentials> {
  const secrets = services.flatMap((service) => Object.values(service.secrets));
  const connections = services.flatMap(({ connection }) =>
    connection === null ? [] : [connection],
  );
  return findCredentials(executor, { orgId, userId, secrets, connections }, deadline);
}

function splitIntoBatches(names: Iterable<string>): string[][] {
  const all = [...new Set(names)];
  const count = Math.ceil(all.length / namesPerRequestMax);
  return Array.from({ length: count }, (_, at) =>
    all.slice(at * namesPerRequestMax, (at + 1) * namesPerRequestMax),
  );
}
