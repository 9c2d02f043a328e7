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

export const soon = () => deadlineIn(10_000);

/** The one private address that documents may be imported from. */
export const importHost = '127.0.0.1:4012';

export interface Person {
  readonly id: string;
  readonly orgId: string;
  /** The user at the root of its chain. */
  readonly userId: string;
  readonly principal: string;
}

export interface FakeConnection {
  readonly provider: string;
  readonly status: 'pending' | 'active' | 'needs_reauth' | 'revoked';
  readonly allowedHosts: string[];
}

/** The part of the executor that the registry asks, with secrets that tests put into it. */
export interface FakeVault {
  /** References that exist, by user or org id. */
  readonly secrets: Map<string, Set<string>>;
  /** Hosts that were let in by the registry or by `store`, by `owner reference`. */
  readonly hosts: Map<string, Set<string>>;
  readonly allowed: { reference: string; hosts: string[] }[];
  /** Connections that exist, by `owner reference`. */
  readonly connections: Map<string, FakeConnection>;
  /** References whose hosts the caller may not change. */
  readonly fixed: Set<string>;
}

export interface RegistryWorld extends AsyncDisposable {
  readonly environment: TestEnvironment;
  readonly db: Database;
  readonly vault: FakeVault;
  /** Logged in as the gateway, and as policy for what only components may ask. */
  readonly client: Client<typeof registry>;
  readonly policy: Client<typeof registry>;
  person(fields?: { kind?: IdentityKind; role?: Role; orgId?: string; userId?: string }): Person;
  /** Stops the registry that the world began with; replicas go on. */
  stopFirst(): Promise<void>;
  /** Another process on the same database, with a folder of its own when one is named. */
  startReplica(templatesDir?: string): Promise<RunningComponent>;
  folder(): Promise<string>;
}

/** A running registry on its own Postgres and NATS, called like its neighbours call it. */
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
  const first = startup.use(await startRegistry(config));
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
    stopFirst: async () => first[Symbol.asyncDispose](),
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
    allowed: [],
    connections: new Map(),
    fixed: new Set(),
  };
  const { describeSecrets, allowSecretHosts, describeConnections, allowConnectionHosts } =
    executor.endpoints;
  const secretEndpoints = { describeSecrets, allowSecretHosts };
  const connectionEndpoints = { describeConnections, allowConnectionHosts };
  const part = { ...executor, endpoints: { ...secretEndpoints, ...connectionEndpoints } };
  const bus = await environment.connect('executor');
  const has = (owner: string, reference: string) =>
    vault.secrets.get(owner)?.has(reference) === true;
  const serving = await serve(
    bus,
    part,
    {
      async describeSecrets({ orgId, userId, names }) {
        const secrets = names.flatMap((asked) => {
          const own = has(userId, asked) ? asked : undefined;
          const inOrg = asked.startsWith('org/') ? asked : `org/${asked}`;
          const reference = own ?? (has(orgId, inOrg) ? inOrg : undefined);
          if (reference === undefined) return [];
          const owner = reference === own ? userId : orgId;
          const allowedHosts = [...(vault.hosts.get(`${owner} ${reference}`) ?? [])];
          return [{ asked, reference, id: uuidv7(), allowedHosts, version: 1 }];
        });
        return { secrets };
      },
      async allowSecretHosts({ reference, hosts }) {
        if (vault.fixed.has(reference)) throw new AppError('host_not_allowed', 'Not there.');
        vault.allowed.push({ reference, hosts });
        return {};
      },
      async describeConnections({ orgId, userId, names }) {
        const connections = names.flatMap((asked) => {
          const inOrg = asked.startsWith('org/') ? asked : `org/${asked}`;
          const own = vault.connections.get(`${userId} ${asked}`);
          const connection = own ?? vault.connections.get(`${orgId} ${inOrg}`);
          if (connection === undefined) return [];
          const reference = own === undefined ? inOrg : asked;
          return [
            { asked, reference, id: uuidv7(), grantedScopes: [], authUrl: '', ...connection },
          ];
        });
        return { connections };
      },
      async allowConnectionHosts({ reference, hosts }) {
        if (vault.fixed.has(reference)) throw new AppError('host_not_allowed', 'Not there.');
        vault.allowed.push({ reference, hosts });
        return {};
      },
    },
    { logger: silent },
  );
  return { ...vault, [Symbol.asyncDispose]: () => serving[Symbol.asyncDispose]() };
}

/** Puts a secret of a user or an org into the vault. */
export function store(
  vault: FakeVault,
  owner: string,
  reference: string,
  hosts: readonly string[] = [],
): void {
  vault.secrets.set(owner, (vault.secrets.get(owner) ?? new Set()).add(reference));
  vault.hosts.set(`${owner} ${reference}`, new Set(hosts));
}

const silent = createLogger({ component: 'executor', level: 'silent' });
