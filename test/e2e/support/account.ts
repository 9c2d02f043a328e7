import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { oauthProvider } from '#contracts/oauth-provider';
import { loadConfig } from '#config';
import { openDatabase } from '#database';
import { executorConfig } from '../../../executor/config.ts';
import { sealTokens } from '../../../executor/connections/tokens.ts';
import { readMasterKeys } from '../../../executor/vault/master-keys.ts';
import { openVault } from '../../../executor/vault/vault.ts';
import type { World } from './world.ts';

/** What the provider grants: an access token, and the scopes it is for. */
export interface Grant {
  readonly token: string;
  readonly scopes: readonly string[];
}

/** An account at Acme, connected. */
export interface Account {
  readonly id: string;
  readonly name: string;
  /** The provider grants this from now on, and the connection takes it at its next use. */
  renew(grant: Grant): Promise<void>;
  /** The provider granted less, or more, when it refreshed by itself. */
  regrant(scopes: readonly string[]): Promise<void>;
  /** The provider ended it, which the next use finds out. */
  lose(): Promise<void>;
}

export interface AccountFields extends Grant {
  readonly name: string;
  readonly owner: { readonly id: string; readonly orgId: string };
  readonly hosts: readonly string[];
}

export interface Provider extends AsyncDisposable {
  /** Stored as its flow would leave it: what happens before is another test's. */
  connect(fields: AccountFields): Promise<Account>;
}

/** Acme, a provider of one org's own, and its token endpoint (RFC 6749 §6). */
export async function openProvider(world: World, orgId: string): Promise<Provider> {
  await using startup = new AsyncDisposableStack();
  const granted = new Map<string, Grant>();
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const form = new URLSearchParams(Buffer.concat(chunks).toString());
      const grant = granted.get(form.get('refresh_token') ?? '');
      reply.writeHead(grant === undefined ? 400 : 200, { 'content-type': 'application/json' });
      const { token, scopes = [] } = grant ?? {};
      const answer = { access_token: token, token_type: 'bearer', scope: scopes.join(' ') };
      reply.end(JSON.stringify(grant === undefined ? { error: 'invalid_grant' } : answer));
    });
  });
  startup.defer(() => void server.close().closeAllConnections());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const config = loadConfig(executorConfig, world.environment);
  const db = startup.use(
    openDatabase({ url: config.DATABASE_URL, schema: 'executor', connectionsMax: 2 }),
  );
  const vault = await openVault({ db, masterKeys: readMasterKeys(config.MASTER_KEY) });
  await insertApp(world, { orgId, url });

  const due = async (id: string) =>
    void (await world.tables.query(
      `update executor.connection set refresh_at = now() where id = $1`,
      [id],
    ));
  const running = startup.move();
  return {
    async connect({ name, owner, hosts, token, scopes }) {
      const id = randomUUID();
      const refreshToken = `CANARY-refresh-${id}`;
      const sealed = await sealTokens(db, vault, {
        place: { orgId, id, version: 1 },
        content: { accessToken: token, refreshToken },
      });
      await world.tables.query(
        `insert into executor.connection
                (id, org_id, name, provider, tier, owner_id, status, granted_scopes, allowed_hosts,
                 token_version, sealed_tokens, token_url, created_by)
         values ($1, $2, $3, 'acme', 'user', $4, 'active', $5, $6, 1, $7, $8, $4)`,
        [id, orgId, name, owner.id, scopes, hosts, sealed, `${url}/token`],
      );
      return {
        id,
        name,
        async renew(grant) {
          granted.set(refreshToken, grant);
          await due(id);
        },
        lose: () => due(id),
        async regrant(to) {
          await world.tables.query(
            `update executor.connection set granted_scopes = $2 where id = $1`,
            [id, to],
          );
        },
      };
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function insertApp(
  { tables }: World,
  { orgId, url }: { orgId: string; url: string },
): Promise<void> {
  const definition = oauthProvider.parse({
    key: 'acme',
    title: 'Acme',
    authorization_url: `${url}/authorize`,
    token_url: `${url}/token`,
    pkce: true,
    client_authentication: 'none',
    hosts: [],
  });
  await tables.query(
    `insert into executor.oauth_app (id, org_id, provider, client_id, definition, created_by)
     values ($1, $2, 'acme', 'gateway', $3, $1)`,
    [randomUUID(), orgId, JSON.stringify(definition)],
  );
}
