import type { Connection } from '#contracts/http/connections';
import type { SecretDetail } from '#contracts/http/secrets';
import type { ConnectedService } from '#contracts/http/services';
import type { TemplateDetail } from '#contracts/http/templates';
import { isRefused, isUsable, referenceOf } from '../connect/connect-view.ts';
import type { NeededSecret } from '../connect/connect-view.ts';
import { serviceReferenceOf } from '../services/service-view.ts';
import type { StateTone } from '../services/service-view.ts';

/**
 * The most services that the API lists for one secret. If there are that many, there may be more.
 */
const usesListed = 50;

/** A sentence about what stops working when the secret is deleted. */
export function describeSecretUses({ used_by: uses }: Pick<SecretDetail, 'used_by'>): string {
  if (uses.length === 0) {
    return 'No connected service that you can see uses it. Calls by URL that name it stop working.';
  }
  const count = uses.length >= usesListed ? `${uses.length} services or more` : undefined;
  if (uses.length === 1) return 'This service cannot be called any more:';
  return `These ${count ?? `${uses.length} services`} cannot be called any more:`;
}

/**
 * The reference of the org's secret with the same name. Once the person's own secret is deleted,
 * the person's services use it instead. A service stops working if that secret may not be sent to
 * its host.
 */
export function findSubstitute(
  secret: Pick<SecretDetail, 'name' | 'tier'>,
  secrets: readonly SecretDetail[],
): string | undefined {
  if (secret.tier === 'org') return undefined;
  const reference = referenceOf(secret.name, 'org');
  return secrets.map(serviceReferenceOf).find((each) => each === reference);
}

/** The references of the services that use an account. */
export function usersOf(
  { name, tier }: Pick<Connection, 'name' | 'tier'>,
  services: readonly ConnectedService[],
): string[] {
  const reference = referenceOf(name, tier);
  return services
    .filter(({ credentials }) => credentials.connection === reference)
    .map((service) => referenceOf(service.name, service.tier));
}

/**
 * A service that uses this secret. `secretReference` is the name in permission keys, such as
 * `org/token`.
 */
export function findUser(
  services: readonly ConnectedService[],
  secretReference: string,
): ConnectedService | undefined {
  return services.find(({ credentials }) =>
    Object.values(credentials.secrets).includes(secretReference),
  );
}

/** What the template of a service contains about the secret that the service uses. */
export function neededSecretOf(
  { credentials }: Pick<ConnectedService, 'credentials'>,
  { ways = [] }: Pick<TemplateDetail, 'ways'>,
  secretReference: string,
): NeededSecret | undefined {
  for (const needed of ways.flat()) {
    if (needed.kind === 'secret' && credentials.secrets[needed.scheme] === secretReference) {
      return needed;
    }
  }
  return undefined;
}

/** The state of an account in words. */
export function accountStateOf(connection: Connection): {
  tone: StateTone;
  words: string;
} {
  const { status } = connection;
  if (status === 'needs_reauth') return { tone: 'bad', words: 'To renew' };
  if (status === 'pending') return { tone: 'warning', words: 'Not completed' };
  if (status === 'revoked') return { tone: 'off', words: 'Disconnected' };
  return isUsable(connection)
    ? { tone: 'good', words: 'Connected' }
    : { tone: 'bad', words: 'Refused' };
}

export interface ScopeWords {
  readonly scope: string;
  /** What the scope allows, in words. Null if the catalogue has no words for it. */
  readonly words: string | null;
}

/** The granted scopes, each with the words for it in the template. */
export function scopesInWords(
  { granted_scopes: granted, provider }: Pick<Connection, 'granted_scopes' | 'provider'>,
  template: Pick<TemplateDetail, 'ways'> | null,
): ScopeWords[] {
  const words: Record<string, string> = Object.assign(
    {},
    ...(template?.ways ?? [])
      .flat()
      .map((needed) =>
        needed.kind === 'connection' && needed.provider === provider ? needed.scope_words : {},
      ),
  );
  return granted.map((scope) => ({
    scope,
    words: Object.hasOwn(words, scope) ? (words[scope] ?? null) : null,
  }));
}

/**
 * Accounts that do not work come first, then the others, and disconnected ones last. Equal ones are
 * sorted by name.
 */
export function sortAccounts(connections: readonly Connection[]): Connection[] {
  const rank = (connection: Connection) => {
    const { tone } = accountStateOf(connection);
    return tone === 'bad' ? 0 : tone === 'off' ? 2 : 1;
  };
  return connections.toSorted(
    (one, other) => rank(one) - rank(other) || one.name.localeCompare(other.name, 'en'),
  );
}

/** Refused secrets come first. Equal ones are sorted by name. */
export function sortSecrets(secrets: readonly SecretDetail[]): SecretDetail[] {
  return secrets.toSorted(
    (one, other) =>
      Number(isRefused(other)) - Number(isRefused(one)) || one.name.localeCompare(other.name, 'en'),
  );
}
