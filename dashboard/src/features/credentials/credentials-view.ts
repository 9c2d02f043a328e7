import type { Connection } from '#contracts/http/connections';
import type { SecretDetail } from '#contracts/http/secrets';
import type { ConnectedService } from '#contracts/http/services';
import type { TemplateDetail } from '#contracts/http/templates';
import { isRefused, isUsable, referenceOf } from '../connect/connect-view.ts';
import type { NeededSecret } from '../connect/connect-view.ts';
import { serviceReferenceOf } from '../services/service-view.ts';
import type { StateTone } from '../services/service-view.ts';

/** The most services that one secret lists; there may be more. */
const usesListed = 50;

/** What stops working when the secret is deleted, in one sentence. */
export function describeSecretUses({ used_by: uses }: Pick<SecretDetail, 'used_by'>): string {
  if (uses.length === 0) {
    return 'No connected service that you can see uses it. Calls by URL that name it stop working.';
  }
  const count = uses.length >= usesListed ? `${uses.length} services or more` : undefined;
  if (uses.length === 1) return 'This service cannot be called any more:';
  return `These ${count ?? `${uses.length} services`} cannot be called any more:`;
}

/**
 * The secret of the organisation that services of the person call with once the person's own secret
 * of that name is deleted. Where it may not go to the host of a service, the service stops instead.
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

/** A service that calls with this secret, by its name in permission keys. */
export function findUser(
  services: readonly ConnectedService[],
  secretReference: string,
): ConnectedService | undefined {
  return services.find(({ credentials }) =>
    Object.values(credentials.secrets).includes(secretReference),
  );
}

/** What the template of a service says about the secret that the service calls with. */
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
  /** What the scope lets the account do; null where the catalogue has no words for it. */
  readonly words: string | null;
}

/** The granted scopes with the words that the catalogue entry has for them. */
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

/** Those that do not work first, those that ended last, otherwise by name. */
export function sortAccounts(connections: readonly Connection[]): Connection[] {
  const rank = (connection: Connection) => {
    const { tone } = accountStateOf(connection);
    return tone === 'bad' ? 0 : tone === 'off' ? 2 : 1;
  };
  return connections.toSorted(
    (one, other) => rank(one) - rank(other) || one.name.localeCompare(other.name, 'en'),
  );
}

/** Refused ones first, otherwise by name. */
export function sortSecrets(secrets: readonly SecretDetail[]): SecretDetail[] {
  return secrets.toSorted(
    (one, other) =>
      Number(isRefused(other)) - Number(isRefused(one)) || one.name.localeCompare(other.name, 'en'),
  );
}
