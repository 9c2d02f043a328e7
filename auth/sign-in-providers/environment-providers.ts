import { z } from 'zod';

import { ConfigError } from '#config';
import type { SecretText } from '#config';
import { signInProviderBody } from '#contracts/http/sign-in';
import { name } from '#contracts/vocabulary';

/** The name of the org that the first start creates. */
const firstOrgName = 'default';
const environmentProviderSchema = signInProviderBody.extend({
  key: name,
  /** The name of the org that uses the provider. */
  org: z.string().max(200).default(firstOrgName),
});
export type EnvironmentProvider = z.infer<typeof environmentProviderSchema>;

/** Reads the setting SIGN_IN_PROVIDERS. Throws a `ConfigError`. */
export function readEnvironmentProviders(setting: SecretText | undefined): EnvironmentProvider[] {
  if (setting === undefined) return [];
  const parseResult = z
    .array(environmentProviderSchema)
    .max(100)
    .safeParse(parseJson(setting.reveal()));
  if (!parseResult.success) {
    const issue = parseResult.error.issues[0];
    const path = issue?.path.join('.') ?? '';
    throw new ConfigError(
      `SIGN_IN_PROVIDERS must be a JSON list of providers${path === '' ? '' : ` (${path}: ${issue?.message})`}.`,
    );
  }
  const keys = parseResult.data.map(({ org, key }) => `${org} ${key}`);
  if (new Set(keys).size < keys.length) {
    throw new ConfigError('SIGN_IN_PROVIDERS names a key twice; give each provider its own.');
  }
  return parseResult.data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
