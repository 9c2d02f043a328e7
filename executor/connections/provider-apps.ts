import type { OauthProvider } from '#contracts/oauth-provider';
import { ConfigError } from '#config';
import type { SecretText } from '#config';
import type { Database } from '#database';
import { AppError } from '#errors';
import { builtInProviders, fillProvider, readVariables } from '#providers';
import { findOauthApp, listOauthApps } from '../repository/oauth-app.ts';
import type { StoredOauthApp } from '../repository/oauth-app.ts';
import type { OrgBinding, Vault } from '../vault/vault.ts';

/** An app given by the operator, for every org that has none of its own. */
export interface EnvironmentApp {
  readonly clientId: string;
  readonly clientSecret: SecretText | null;
}

/** What an org is known as at a provider, and the provider as this app speaks to it. */
export interface ProviderApp {
  readonly source: 'environment' | 'org';
  /** Its addresses filled in. */
  readonly provider: OauthProvider;
  readonly clientId: string;
  readonly stored: StoredOauthApp | null;
  /** Null for a public client; `conflict` when what is stored does not open. */
  revealSecret(): Promise<string | null>;
}

export interface ProviderApps {
  /** Undefined when nobody has set the provider up, or set it up incompletely. */
  find(at: { orgId: string; provider: string }): Promise<ProviderApp | undefined>;
  list(orgId: string): Promise<{ own: StoredOauthApp[]; ofEnvironment: readonly string[] }>;
  ofEnvironment(provider: string): EnvironmentApp | undefined;
  /** Each provider has a callback of its own, so that a code of one is never taken for another's (RFC 9700 §4.4.2). */
  redirectUriOf(provider: string): string;
}

interface Options {
  readonly db: Database;
  readonly vault: Vault;
  readonly baseUrl: string;
  readonly ofEnvironment: ReadonlyMap<string, EnvironmentApp>;
}

export function createProviderApps({ db, vault, baseUrl, ofEnvironment }: Options): ProviderApps {
  checkEnvironment(ofEnvironment);
  const builtIn = builtInProviders();

  const fromRow = (row: StoredOauthApp): ProviderApp | undefined => {
    const provider = row.definition ?? builtIn.get(row.provider);
    if (provider === undefined) return undefined;
    const read = readVariables(provider, row.variables);
    if ('problems' in read) return undefined;
    return {
      source: 'org',
      provider: fillProvider(provider, { values: read.values, clientId: row.clientId }),
      clientId: row.clientId,
      stored: row,
      revealSecret: async () =>
        row.sealedSecret && (await vault.unseal(db, appBinding(row), row.sealedSecret)),
    };
  };
  const fromEnvironment = (key: string): ProviderApp | undefined => {
    const app = ofEnvironment.get(key);
    const provider = builtIn.get(key);
    if (app === undefined || provider === undefined) return undefined;
    const read = readVariables(provider, {});
    if ('problems' in read) return undefined;
    const { clientId, clientSecret } = app;
    return {
      source: 'environment',
      provider: fillProvider(provider, { values: read.values, clientId }),
      clientId,
      stored: null,
      revealSecret: async () => clientSecret?.reveal() ?? null,
    };
  };

  return {
    async find({ orgId, provider }) {
      const row = await findOauthApp(db, { orgId, provider });
      return row === undefined ? fromEnvironment(provider) : fromRow(row);
    },
    async list(orgId) {
      return { own: await listOauthApps(db, { orgId }), ofEnvironment: [...ofEnvironment.keys()] };
    },
    ofEnvironment: (provider) => ofEnvironment.get(provider),
    redirectUriOf: (provider) => `${baseUrl}/v1/connections/callback/${provider}`,
  };
}

export function appBinding({
  orgId,
  id,
  version,
}: Pick<StoredOauthApp, 'orgId' | 'id' | 'version'>): OrgBinding {
  return { orgId, recordId: id, version, purpose: 'oauth_app' };
}

/** Throws what a caller is told when nobody has set the provider up. */
export function requireApp(app: ProviderApp | undefined, provider: string): ProviderApp {
  if (app !== undefined) return app;
  throw new AppError(
    'conflict',
    `The provider "${provider}" is not set up; an admin has to register an app with it (PUT /v1/oauth-apps/${provider}).`,
    { details: { provider } },
  );
}

function checkEnvironment(apps: ReadonlyMap<string, EnvironmentApp>): void {
  for (const [key] of apps) {
    const provider = builtInProviders().get(key);
    const setting = `OAUTH_${key.toUpperCase().replaceAll('-', '_')}_CLIENT_ID`;
    if (provider === undefined) {
      throw new ConfigError(`${setting}: there is no provider "${key}" in oauth-providers/.`);
    }
    const read = readVariables(provider, {});
    if (!('problems' in read)) continue;
    const missing = read.problems.map(({ variable }) => variable).join(', ');
    throw new ConfigError(
      `${setting}: this provider needs ${missing}; set it up with PUT /v1/oauth-apps/${key} instead.`,
    );
  }
}
