import type { TokenActor, OauthProvider } from '#contracts/oauth-provider';
import { ConfigError } from '#config';
import type { SecretText } from '#config';
import type { Database } from '#database';
import { AppError, nearestName } from '#errors';
import { builtInProviders, fillProvider, providerActingAs, readVariables } from '#providers';
import { findOauthApp, listOauthApps } from './oauth-app.sql.ts';
import type { StoredOauthApp } from './oauth-app.sql.ts';
import type { OrgSealContext, Vault } from '../vault/vault.ts';

/** An app that the operator configured. Every org without an app of its own uses it. */
export interface EnvironmentApp {
  readonly clientId: string;
  readonly clientSecret: SecretText | null;
}

/** A client id and secret at a provider, with the definition of the provider. */
export interface ProviderApp {
  readonly source: 'environment' | 'org';
  /** The provider's definition with the variables in its URLs filled in. */
  readonly provider: OauthProvider;
  readonly clientId: string;
  readonly stored: StoredOauthApp | null;
  /**
   * The client secret; null for a public client. Throws `conflict` when the stored secret cannot be
   * decrypted.
   */
  revealSecret(): Promise<string | null>;
}

export interface ProviderApps {
  /** Undefined when no app is set up for the provider, or when its configuration is incomplete. */
  find(at: {
    orgId: string;
    provider: string;
    /** Whose token is requested (the user's or a bot's); null for the provider's default. */
    actsAs?: TokenActor | null;
  }): Promise<ProviderApp | undefined>;
  list(orgId: string): Promise<{ own: StoredOauthApp[]; ofEnvironment: readonly string[] }>;
  ofEnvironment(provider: string): EnvironmentApp | undefined;
  /**
   * The callback URL of a provider. Each provider has its own, so that the code of one provider is
   * never taken for the code of another (RFC 9700 §4.4.2).
   */
  redirectUriOf(provider: string): string;
}

interface Options {
  readonly db: Database;
  readonly vault: Vault;
  readonly baseUrl: string;
  readonly ofEnvironment: ReadonlyMap<string, EnvironmentApp>;
}

export function createProviderApps({ db, vault, baseUrl, ofEnvironment }: Options): ProviderApps {
  const builtIn = builtInProviders();

  const appOfRow = (row: StoredOauthApp): ProviderApp | undefined => {
    const provider = row.definition ?? builtIn.get(row.provider);
    if (provider === undefined) return undefined;
    const readResult = readVariables(provider, row.variables);
    if ('problems' in readResult) return undefined;
    return {
      source: 'org',
      provider: fillProvider(provider, { values: readResult.values, clientId: row.clientId }),
      clientId: row.clientId,
      stored: row,
      revealSecret: async () =>
        row.sealedSecret && (await vault.unseal(db, oauthAppSealContextOf(row), row.sealedSecret)),
    };
  };
  const appOfEnvironment = (key: string): ProviderApp | undefined => {
    const app = ofEnvironment.get(key);
    const provider = builtIn.get(key);
    if (app === undefined || provider === undefined) return undefined;
    const readResult = readVariables(provider, {});
    if ('problems' in readResult) return undefined;
    const { clientId, clientSecret } = app;
    return {
      source: 'environment',
      provider: fillProvider(provider, { values: readResult.values, clientId }),
      clientId,
      stored: null,
      revealSecret: async () => clientSecret?.reveal() ?? null,
    };
  };

  return {
    async find({ orgId, provider, actsAs = null }) {
      const row = await findOauthApp(db, { orgId, provider });
      const app = row === undefined ? appOfEnvironment(provider) : appOfRow(row);
      return app && { ...app, provider: providerActingAs(app.provider, actsAs) };
    },
    async list(orgId) {
      return { own: await listOauthApps(db, { orgId }), ofEnvironment: [...ofEnvironment.keys()] };
    },
    ofEnvironment: (provider) => ofEnvironment.get(provider),
    redirectUriOf: (provider) => `${baseUrl}/v1/connections/callback/${provider}`,
  };
}

export function oauthAppSealContextOf({
  orgId,
  id,
  version,
}: Pick<StoredOauthApp, 'orgId' | 'id' | 'version'>): OrgSealContext {
  return { orgId, recordId: id, version, purpose: 'oauth_app' };
}

/**
 * The app of the provider. Throws when none is set up; the error suggests a provider with a similar
 * name.
 */
export async function findRequiredApp(
  apps: ProviderApps,
  { orgId, provider }: { orgId: string; provider: string },
): Promise<ProviderApp> {
  const app = await apps.find({ orgId, provider });
  if (app !== undefined) return app;
  const { own } = await apps.list(orgId);
  const knownKeys = [...own.map((each) => each.provider), ...builtInProviders().keys()];
  const suggestion = knownKeys.includes(provider) ? undefined : nearestName(provider, knownKeys);
  if (suggestion === undefined) return requireApp(app, provider);
  throw new AppError(
    'conflict',
    `There is no provider "${provider}". Did you mean "${suggestion}"?`,
    { details: { provider, did_you_mean: suggestion } },
  );
}

/** Throws when no app is set up for the provider. */
export function requireApp(app: ProviderApp | undefined, provider: string): ProviderApp {
  if (app !== undefined) return app;
  throw new AppError(
    'conflict',
    `The provider "${provider}" is not set up; an admin has to register an app with it (PUT /v1/oauth-apps/${provider}).`,
    { details: { provider } },
  );
}

/**
 * Refuses apps of the setting OAUTH_APPS for unknown providers, and for providers that need values
 * besides the client's id and secret. Throws a `ConfigError`.
 */
export function checkEnvironmentApps(apps: ReadonlyMap<string, EnvironmentApp>): void {
  for (const [key] of apps) {
    const provider = builtInProviders().get(key);
    const setting = `OAUTH_${key.toUpperCase().replaceAll('-', '_')}_CLIENT_ID`;
    if (provider === undefined) {
      throw new ConfigError(`${setting}: there is no provider "${key}" in oauth-providers/.`);
    }
    const readResult = readVariables(provider, {});
    if (!('problems' in readResult)) continue;
    const missingNames = readResult.problems.map(({ variable }) => variable).join(', ');
    throw new ConfigError(
      `${setting}: this provider needs ${missingNames}; set it up with PUT /v1/oauth-apps/${key} instead.`,
    );
  }
}
