import type { Configuration } from 'openid-client';
import { z } from 'zod';

import { ConfigError } from '#config';
import type { SecretText } from '#config';
import { signInProviderBody } from '#contracts/http/sign-in';
import type { PublicSignInProvider, SignInProviderBody } from '#contracts/http/sign-in';
import { name } from '#contracts/vocabulary';
import type { Database } from '#database';
import { AppError } from '#errors';
import { sealSecret, sealingKeyOf, unsealSecret } from './domain/sealing.ts';
import type { OpenidProviders } from './openid.ts';
import { findOrg } from './repository/orgs.ts';
import { findProvider, listProviders } from './repository/sign-in-providers.ts';
import type { StoredProvider } from './repository/sign-in-providers.ts';

export interface SignInProvider extends Omit<StoredProvider, 'clientSecret'> {
  readonly hasClientSecret: boolean;
  readonly source: PublicSignInProvider['source'];
  /** Its metadata, and what is needed to speak to it as its client. */
  connect(): Promise<Configuration>;
}

/** The OpenID Connect providers of an org: those of the environment, then those its admins set up. */
export interface SignInProviders {
  list(orgId: string): Promise<SignInProvider[]>;
  find(at: { orgId: string; key: string }): Promise<SignInProvider | undefined>;
  /** What a provider would be stored as; an `AppError` when its metadata cannot be had. */
  prepare(
    at: { orgId: string; key: string },
    body: SignInProviderBody,
    random: (length: number) => Uint8Array,
  ): Promise<StoredProvider>;
  redirectUriOf(key: string): string;
}

interface Options {
  readonly db: Database;
  readonly baseUrl: string;
  readonly openid: OpenidProviders;
  readonly signInKey: SecretText;
  readonly ofEnvironment: SecretText | undefined;
}

/** The org that the first start makes. */
const firstOrgName = 'default';
const environmentProvider = signInProviderBody.extend({
  key: name,
  /** Name of the org it is for. */
  org: z.string().max(200).default(firstOrgName),
});
type EnvironmentProvider = z.infer<typeof environmentProvider>;

export function createSignInProviders(options: Options): SignInProviders {
  const { db, openid, baseUrl } = options;
  const sealingKey = sealingKeyOf(options.signInKey.reveal());
  const fixed = parseEnvironment(options.ofEnvironment);

  const fromEnvironment = (orgId: string, given: EnvironmentProvider): SignInProvider => ({
    ...fieldsOf({ orgId, key: given.key }, given),
    hasClientSecret: given.client_secret !== undefined,
    source: 'environment',
    connect: () =>
      openid.discover({
        issuer: given.issuer,
        clientId: given.client_id,
        clientSecret: given.client_secret ?? null,
      }),
  });
  const fromRow = ({ clientSecret, ...row }: StoredProvider): SignInProvider => ({
    ...row,
    hasClientSecret: clientSecret !== null,
    source: 'org',
    connect: () =>
      openid.discover({
        issuer: row.issuer,
        clientId: row.clientId,
        clientSecret: clientSecret && open(clientSecret, row),
      }),
  });
  const open = (sealed: Buffer, binding: Omit<StoredProvider, 'clientSecret'>): string => {
    try {
      return unsealSecret(sealingKey, sealed, binding);
    } catch (cause) {
      throw new AppError(
        'conflict',
        'The stored client secret of this provider cannot be opened; an admin has to set the provider up again.',
        { cause },
      );
    }
  };
  const fixedOf = async (orgId: string): Promise<SignInProvider[]> => {
    if (fixed.length === 0) return [];
    const org = await findOrg(db, { orgId });
    return fixed
      .filter((each) => each.org === org?.name)
      .map((each) => fromEnvironment(orgId, each));
  };

  return {
    async list(orgId) {
      const own = (await listProviders(db, { orgId })).map(fromRow);
      const first = await fixedOf(orgId);
      // A provider of the environment stands before one that an admin had set up under its key.
      const keys = new Set(first.map(({ key }) => key));
      return [...first, ...own.filter(({ key }) => !keys.has(key))];
    },
    async find({ orgId, key }) {
      const first = (await fixedOf(orgId)).find((each) => each.key === key);
      if (first !== undefined) return first;
      const row = await findProvider(db, { orgId, key });
      return row && fromRow(row);
    },
    async prepare(at, body, random) {
      const { issuer, client_id: clientId, client_secret: secret } = body;
      await openid.discover({ issuer, clientId, clientSecret: secret ?? null });
      const binding = { ...at, issuer };
      return {
        ...fieldsOf(at, body),
        clientSecret:
          secret === undefined ? null : sealSecret(sealingKey, secret, { binding, random }),
      };
    },
    redirectUriOf: (key) => `${baseUrl}/sign-in/callback/${key}`,
  };
}

function fieldsOf(at: { orgId: string; key: string }, body: SignInProviderBody) {
  return {
    orgId: at.orgId,
    key: at.key,
    name: body.name,
    issuer: body.issuer,
    clientId: body.client_id,
    // Without it a provider would answer as OAuth alone, and tell nobody's name.
    scopes: [...new Set(['openid', ...body.scopes])],
    allowedEmailDomains: body.allowed_email_domains,
    allowedGroups: body.allowed_groups,
  };
}

function parseEnvironment(setting: SecretText | undefined): EnvironmentProvider[] {
  if (setting === undefined) return [];
  const parsed = z.array(environmentProvider).max(100).safeParse(jsonOf(setting.reveal()));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const place = issue?.path.join('.') ?? '';
    throw new ConfigError(
      `SIGN_IN_PROVIDERS must be a JSON list of providers${place === '' ? '' : ` (${place}: ${issue?.message})`}.`,
    );
  }
  const keys = parsed.data.map(({ org, key }) => `${org} ${key}`);
  if (new Set(keys).size < keys.length) {
    throw new ConfigError('SIGN_IN_PROVIDERS names a key twice; give each provider its own.');
  }
  return parsed.data;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
