import type { Configuration } from 'openid-client';

import type { SecretText } from '#config';
import type { PublicSignInProvider, SignInProviderBody } from '#contracts/http/sign-in';
import type { Database } from '#database';
import { AppError } from '#errors';
import { sealSecret, sealingKeyOf, unsealSecret } from './domain/sealing.ts';
import { readEnvironmentProviders } from './environment-providers.ts';
import type { EnvironmentProvider } from './environment-providers.ts';
import type { OpenidProviders } from './openid.ts';
import { findOrg } from '../orgs/orgs.sql.ts';
import { findProvider, listProviders } from './sign-in-providers.sql.ts';
import type { StoredProvider } from './sign-in-providers.sql.ts';

export interface SignInProvider extends Omit<StoredProvider, 'clientSecret'> {
  readonly hasClientSecret: boolean;
  readonly source: PublicSignInProvider['source'];
  /** Reads the provider's metadata and returns the configuration for requests to the provider. */
  connect(): Promise<Configuration>;
}

/**
 * The OpenID Connect providers of an org: those from the environment, and those that its admins
 * created.
 */
export interface SignInProviders {
  list(orgId: string): Promise<SignInProvider[]>;
  find(at: { orgId: string; key: string }): Promise<SignInProvider | undefined>;
  /**
   * Checks a new provider and returns the row to store. Throws an `AppError` when its metadata
   * cannot be read.
   */
  prepare(
    providerKey: { orgId: string; key: string },
    body: SignInProviderBody,
    random: (length: number) => Uint8Array,
  ): Promise<StoredProvider>;
  redirectUriOf(key: string): string;
}

interface SignInProvidersOptions {
  readonly db: Database;
  readonly baseUrl: string;
  readonly openid: OpenidProviders;
  readonly signInKey: SecretText;
  /** The value of the setting SIGN_IN_PROVIDERS. */
  readonly environmentSetting: SecretText | undefined;
}

export function createSignInProviders(options: SignInProvidersOptions): SignInProviders {
  const { db, openid, baseUrl } = options;
  const sealingKey = sealingKeyOf(options.signInKey.reveal());
  const environmentProviders = readEnvironmentProviders(options.environmentSetting);

  const fromEnvironment = (orgId: string, provider: EnvironmentProvider): SignInProvider => ({
    ...storedFieldsOf({ orgId, key: provider.key }, provider),
    hasClientSecret: provider.client_secret !== undefined,
    source: 'environment',
    connect: () =>
      openid.discover({
        issuer: provider.issuer,
        clientId: provider.client_id,
        clientSecret: provider.client_secret ?? null,
      }),
  });
  const toSignInProvider = ({ clientSecret, ...row }: StoredProvider): SignInProvider => ({
    ...row,
    hasClientSecret: clientSecret !== null,
    source: 'org',
    connect: () =>
      openid.discover({
        issuer: row.issuer,
        clientId: row.clientId,
        clientSecret: clientSecret && unseal(clientSecret, row),
      }),
  });
  const unseal = (sealedSecret: Buffer, binding: Omit<StoredProvider, 'clientSecret'>): string => {
    try {
      return unsealSecret(sealingKey, sealedSecret, binding);
    } catch (cause) {
      throw new AppError(
        'conflict',
        'The stored client secret of this provider cannot be opened; an admin has to set the provider up again.',
        { cause },
      );
    }
  };
  const listFromEnvironment = async (orgId: string): Promise<SignInProvider[]> => {
    if (environmentProviders.length === 0) return [];
    const org = await findOrg(db, { orgId });
    return environmentProviders
      .filter((each) => each.org === org?.name)
      .map((each) => fromEnvironment(orgId, each));
  };

  return {
    async list(orgId) {
      const ownProviders = (await listProviders(db, { orgId })).map(toSignInProvider);
      const first = await listFromEnvironment(orgId);
      // If both have the same key, a provider from the environment takes precedence over one from
      // an admin.
      const keys = new Set(first.map(({ key }) => key));
      return [...first, ...ownProviders.filter(({ key }) => !keys.has(key))];
    },
    async find({ orgId, key }) {
      const first = (await listFromEnvironment(orgId)).find((each) => each.key === key);
      if (first !== undefined) return first;
      const row = await findProvider(db, { orgId, key });
      return row && toSignInProvider(row);
    },
    async prepare(providerKey, body, random) {
      const { issuer, client_id: clientId, client_secret: secret } = body;
      await openid.discover({ issuer, clientId, clientSecret: secret ?? null });
      const binding = { ...providerKey, issuer };
      return {
        ...storedFieldsOf(providerKey, body),
        clientSecret:
          secret === undefined ? null : sealSecret(sealingKey, secret, { binding, random }),
      };
    },
    redirectUriOf: (key) => `${baseUrl}/sign-in/callback/${key}`,
  };
}

function storedFieldsOf(providerKey: { orgId: string; key: string }, body: SignInProviderBody) {
  return {
    orgId: providerKey.orgId,
    key: providerKey.key,
    name: body.name,
    issuer: body.issuer,
    clientId: body.client_id,
    // Without the scope `openid`, a provider would respond without an ID token.
    scopes: [...new Set(['openid', ...body.scopes])],
    allowedEmailDomains: body.allowed_email_domains,
    allowedGroups: body.allowed_groups,
  };
}
