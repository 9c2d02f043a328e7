import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { v7 as uuidv7 } from 'uuid';

import { createClient, deadlineIn, serve } from '#bus';
import type { Client } from '#bus';
import { loadConfig } from '#config';
import { executor } from '#contracts/bus/executor';
import { registry } from '#contracts/bus/registry';
import type { IdentityKind, Principal, Role } from '#contracts/vocabulary';
import { openDatabase } from '#database';
import type { Database } from '#database';
import { AppError } from '#errors';
import type { RunningComponent } from '#process';
import { createSigner } from '#signing';
import { createLogger } from '#telemetry';
import { createTestEnvironment } from '../test/support/environment.ts';
import type { TestEnvironment } from '../test/support/environment.ts';
import { registryConfig } from './config.ts';
import { startRegistry } from './start.ts';

export const testDeadline = () => deadlineIn(10_000);

/** The only private address from which tests may import documents. */
export const importHost = '127.0.0.1:4012';

export interface Person {
  readonly id: string;
  readonly orgId: string;
  /** The id of the user to whom the caller belongs: the root of its chain of identities. */
  readonly userId: string;
  readonly principal: string;
}

export interface FakeConnection {
  readonly provider: string;
  readonly status: 'pending' | 'active' | 'needs_reauth' | 'revoked';
  readonly allowedHosts: string[];
  readonly actsAs?: 'user' | 'bot' | 'app' | null;
  readonly refusedAt?: string;
}

/** Answers the registry's questions about secrets and connections in place of the executor. */
export interface FakeVault {
  /** The existing secret references, by the id of the user or org that owns them. */
  readonly secrets: Map<string, Set<string>>;
  /** The hosts to which each credential may go; the map key is `<owner id> <reference>`. */
  readonly hosts: Map<string, Set<string>>;
  readonly allowRequests: { reference: string; hosts: string[] }[];
  /** The existing connections; the map key is `<owner id> <reference>`. */
  readonly connections: Map<string, FakeConnection>;
  /**
   * The ids of the requests that count as open, and the requests that the registry has reported as
   * answered.
   */
  readonly openRequests: Set<string>;
  readonly finishedRequests: { id: string; serviceId: string }[];
  /** References of credentials whose hosts the caller may not change. */
  readonly fixedReferences: Set<string>;
}

export interface RegistryWorld extends AsyncDisposable {
  readonly environment: TestEnvironment;
  readonly db: Database;
  readonly vault: FakeVault;
  /**
   * A client of the registry with the bus account of the gateway. `policy` is a client with the
   * account of policy, for internal endpoints.
   */
  readonly client: Client<typeof registry>;
  readonly policy: Client<typeof registry>;
  person(fields?: { kind?: IdentityKind; role?: Role; orgId?: string; userId?: string }): Person;
  /** Stops the first registry; the other replicas continue. */
  stopFirst(): Promise<void>;
  /** Starts another replica on the same database. It uses the given folder of templates, if any. */
  startReplica(templatesDir?: string): Promise<RunningComponent>;
  folder(): Promise<string>;
}

/**
 * Starts a registry with its own Postgres and NATS, and clients with the bus accounts of other
 * components.
 */
export async function createRegistryWorld(templatesDir?: string): Promise<RegistryWorld> {
  await using startup = new AsyncDisposableStack();
  const environment = startup.use(await createTestEnvironment());
  const variables = {
    ...environment.variables,
    EGRESS_ALLOW: `127.0.0.1:4010,${importHost},10.1.0.0/16:8080`,
  };
  const configFor = (directory: string | undefined) =>
    loadConfig(registryConfig, {
      ...variables,
      ...(directory === undefined ? {} : { TEMPLATES_DIR: directory }),
    });
  const config = configFor(templatesDir);
  const db = startup.use(
    openDatabase({ url: config.DATABASE_URL, schema: 'registry', connectionsMax: 2 }),
  );
  const vault = startup.use(await serveVault(environment));
  const firstRegistry = startup.use(await startRegistry(config));
  const client = createClient(await environment.connect('gateway'), registry);
  const policy = createClient(await environment.connect('policy'), registry);
  const signer = createSigner<Principal>('principal', ...environment.keys.principal);

  const stack = startup.move();
  return {
    environment,
    db,
    vault,
    client,
    policy,
    person({ kind = 'user', role = 'member', orgId = uuidv7(), userId = uuidv7() } = {}) {
      const id = kind === 'user' ? userId : uuidv7();
      const user = { id: userId, kind: 'user', name: 'ann', inheritPermissions: false } as const;
      const self = { id, kind, name: 'bot', inheritPermissions: false };
      const principal = signer.sign({
        orgId,
        identityId: id,
        kind,
        userId,
        role: kind === 'user' ? role : null,
        chain: kind === 'user' ? [user] : [user, self],
        autoCallOnApprove: true,
        credential: { kind: 'session', id: uuidv7(), clientId: null },
        scopes: ['user'],
        expiresAt: Date.now() + 60_000,
      });
      return { id, orgId, userId, principal };
    },
    stopFirst: async () => firstRegistry[Symbol.asyncDispose](),
    startReplica: async (directory) => stack.use(await startRegistry(configFor(directory))),
    async folder() {
      const path = await mkdtemp(join(tmpdir(), 'aag-templates-'));
      stack.defer(() => rm(path, { recursive: true, force: true }));
      return path;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function serveVault(environment: TestEnvironment): Promise<FakeVault & AsyncDisposable> {
  const vault: FakeVault = {
    secrets: new Map(),
    hosts: new Map(),
    allowRequests: [],
    connections: new Map(),
    fixedReferences: new Set(),
    openRequests: new Set(),
    finishedRequests: [],
  };
  const {
    describeSecrets,
    allowSecretHosts,
    describeConnections,
    allowConnectionHosts,
    checkRequest,
    finishRequest,
  } = executor.endpoints;
  const secretEndpoints = { describeSecrets, allowSecretHosts };
  const connectionEndpoints = { describeConnections, allowConnectionHosts };
  const requestEndpoints = { checkRequest, finishRequest };
  const contractPart = {
    ...executor,
    endpoints: { ...secretEndpoints, ...connectionEndpoints, ...requestEndpoints },
  };
  const bus = await environment.connect('executor');
  const hasSecret = (owner: string, reference: string) =>
    vault.secrets.get(owner)?.has(reference) === true;
  const vaultServer = await serve(
    bus,
    contractPart,
    {
      async describeSecrets({ orgId, userId, names }) {
        const secrets = names.flatMap((askedReference) => {
          const ownReference = hasSecret(userId, askedReference) ? askedReference : undefined;
          const orgReference = askedReference.startsWith('org/')
            ? askedReference
            : `org/${askedReference}`;
          const reference =
            ownReference ?? (hasSecret(orgId, orgReference) ? orgReference : undefined);
          if (reference === undefined) return [];
          const owner = reference === ownReference ? userId : orgId;
          const allowedHosts = [...(vault.hosts.get(`${owner} ${reference}`) ?? [])];
          return [{ asked: askedReference, reference, id: uuidv7(), allowedHosts, version: 1 }];
        });
        return { secrets };
      },
      async allowSecretHosts({ reference, hosts }) {
        if (vault.fixedReferences.has(reference))
          throw new AppError('host_not_allowed', 'Not there.');
        vault.allowRequests.push({ reference, hosts });
        return {};
      },
      async describeConnections({ orgId, userId, names }) {
        const connections = names.flatMap((askedReference) => {
          const orgReference = askedReference.startsWith('org/')
            ? askedReference
            : `org/${askedReference}`;
          const ownReference = vault.connections.get(`${userId} ${askedReference}`);
          const connection = ownReference ?? vault.connections.get(`${orgId} ${orgReference}`);
          if (connection === undefined) return [];
          const reference = ownReference === undefined ? orgReference : askedReference;
          return [
            {
              asked: askedReference,
              reference,
              id: uuidv7(),
              grantedScopes: [],
              authUrl: '',
              ...connection,
            },
          ];
        });
        return { connections };
      },
      async allowConnectionHosts({ reference, hosts }) {
        if (vault.fixedReferences.has(reference))
          throw new AppError('host_not_allowed', 'Not there.');
        vault.allowRequests.push({ reference, hosts });
        return {};
      },
      async checkRequest({ id }) {
        if (!vault.openRequests.has(id)) throw new AppError('conflict', 'The request is closed.');
        return {};
      },
      async finishRequest({ id, serviceId }) {
        vault.finishedRequests.push({ id, serviceId });
        return {};
      },
    },
    { logger: silentLogger },
  );
  return { ...vault, [Symbol.asyncDispose]: () => vaultServer[Symbol.asyncDispose]() };
}

/** Puts a secret of a user or an org into the fake vault. */
export function storeSecret(
  vault: FakeVault,
  owner: string,
  reference: string,
  hosts: readonly string[] = [],
): void {
  vault.secrets.set(owner, (vault.secrets.get(owner) ?? new Set()).add(reference));
  vault.hosts.set(`${owner} ${reference}`, new Set(hosts));
}

const silentLogger = createLogger({ component: 'executor', level: 'silent' });
