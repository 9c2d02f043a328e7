import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { parse } from 'yaml';

import { oauthProvider } from '#contracts/oauth-provider';
import type { OauthProvider } from '#contracts/oauth-provider';

const folder = join(import.meta.dirname, '../../oauth-providers');

let known: ReadonlyMap<string, OauthProvider> | undefined;

/**
 * The rows of `oauth-providers/`, by key. They are part of the program: one that is wrong throws,
 * and the start with it.
 */
export function builtInProviders(): ReadonlyMap<string, OauthProvider> {
  known ??= new Map(
    readdirSync(folder)
      .filter((file) => file.endsWith('.yaml'))
      .map((file) => {
        const parsed = oauthProvider.safeParse(parse(readFileSync(join(folder, file), 'utf8')));
        if (!parsed.success) throw new Error(`oauth-providers/${file}: ${parsed.error.message}`);
        if (`${parsed.data.key}.yaml` !== file) {
          throw new Error(`oauth-providers/${file} holds the key ${parsed.data.key}`);
        }
        return [parsed.data.key, parsed.data];
      }),
  );
  return known;
}
