import type { Deadline } from '#bus';
import type { CredentialPart } from '#contracts/credential-derivation';
import { secretHostsMax } from '#contracts/http/secrets';
import type { NeededCredential } from '#contracts/http/templates';
import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';

type NeededSecret = Extract<NeededCredential, { kind: 'secret' }>;

interface WantedSecretQuery {
  readonly signed: string;
  readonly name: string;
  readonly tier: Tier;
  /** The key of the template. */
  readonly template: string;
}

interface WantedSecret {
  /** Null for a secret without parts. */
  readonly parts: readonly CredentialPart[] | null;
  /** The hosts to which the template sends the secret. */
  readonly hosts: readonly string[];
}

/**
 * Finds the secret that the template needs: the one that the template calls by this name, or else
 * its only secret. Throws `invalid_params` when the template has no secret, or has several and none
 * has this name.
 */
export async function findWantedSecret(
  { registry }: Pick<Deps['owners'], 'registry'>,
  { signed, name, tier, template: givenKey }: WantedSecretQuery,
  deadline: Deadline,
): Promise<WantedSecret> {
  const foundTemplate = await registry.getTemplate(
    { principal: signed, key: givenKey, tier: null, version: null },
    deadline,
  );
  const { key } = foundTemplate;
  // A member's own template uses no secret of the org. It also must not provide text that an admin
  // would read.
  if (tier === 'org' && foundTemplate.tier === 'user') {
    throw invalidFieldError(
      'template',
      `"${key}" is one of a user, which uses no secret of the org`,
    );
  }
  const ways = foundTemplate.ways ?? [];
  const secrets = ways.flat().filter((each) => each.kind === 'secret');
  const neededSecret = chooseSecret(secrets, { name, key });
  const { scheme, token_hosts: tokenHosts = [] } = neededSecret;
  const addressedHosts = foundTemplate.addresses?.flatMap((address, index) =>
    ways[index]?.some((each) => each.scheme === scheme) === true ? address.hosts : [],
  );
  const hosts = [...new Set([...(addressedHosts ?? foundTemplate.hosts), ...tokenHosts])];
  return { parts: neededSecret.parts ?? null, hosts: hosts.slice(0, secretHostsMax) };
}

function chooseSecret(
  secrets: readonly NeededSecret[],
  { name, key }: { name: string; key: string },
): NeededSecret {
  const named = secrets.find((each) => each.default_secret_name === name);
  const [only] = secrets;
  const isOnlyOne = secrets.every(({ scheme }) => scheme === only?.scheme);
  if (named !== undefined) return named;
  if (only !== undefined && isOnlyOne) return only;
  const names = [...new Set(secrets.map((each) => each.default_secret_name))];
  if (names.length === 0)
    throw invalidFieldError('template', `"${key}" needs no secret; leave it out`);
  throw invalidFieldError(
    'name',
    `must be one that the template "${key}" has: ${names.join(', ')}`,
  );
}

function invalidFieldError(path: 'name' | 'template', message: string): AppError {
  return new AppError('invalid_params', `The ${path} ${message}.`, {
    details: { issues: [{ path, message }] },
  });
}
