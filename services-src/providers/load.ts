import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { parse } from 'yaml';

import { oauthProvider } from '#contracts/oauth-provider';
import type { OauthProvider } from '#contracts/oauth-provider';
import { checkImplications } from './scopes.ts';

const providersFolder = join(import.meta.dirname, '../../oauth-providers');

let loadedProviders: ReadonlyMap<string, OauthProvider> | undefined;

/**
 * Reads the files of `oauth-providers/`, by provider key. The files are part of the program, so an
 * invalid file throws and stops the start.
 */
export function loadBuiltInProviders(): ReadonlyMap<string, OauthProvider> {
  loadedProviders ??= new Map(
    readdirSync(providersFolder)
      .filter((file) => file.endsWith('.yaml'))
      .map((file) => {
        const parseResult = oauthProvider.safeParse(
          parse(readFileSync(join(providersFolder, file), 'utf8')),
        );
        if (!parseResult.success)
          throw new Error(`oauth-providers/${file}: ${parseResult.error.message}`);
        if (`${parseResult.data.key}.yaml` !== file) {
          throw new Error(`oauth-providers/${file} holds the key ${parseResult.data.key}`);
        }
        checkImplications(parseResult.data);
        return [parseResult.data.key, parseResult.data];
      }),
  );
  return loadedProviders;
}

/**
 * The row of a built-in provider. Undefined for an org's own provider: nothing is known about its
 * scopes.
 */
export function scopeRowOf(provider: string): OauthProvider | undefined {
  return loadBuiltInProviders().get(provider);
}
