import { isHost } from '#addresses';
import { secretHostsMax } from '#contracts/http/secrets';
import type { Principal, Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';

/** The fields of a secret or connection that these rules read: owner and allowed hosts. */
export interface CredentialOwner {
  readonly tier: Tier;
  readonly ownerId: string | null;
}

/**
 * Whether the caller may write a credential: a user may write the user's own, and an admin the
 * org's. Agents use credentials and never write them
 * (docs/reference/credentials.md#who-writes-credentials).
 */
export function mayWriteCredential(
  principal: Principal,
  { tier, ownerId }: CredentialOwner,
): boolean {
  if (principal.kind !== 'user' || principal.role === null || principal.role === 'auditor')
    return false;
  return tier === 'org' ? principal.role === 'admin' : ownerId === principal.userId;
}

/**
 * Whether the caller may see a credential's name and hosts. A user and the user's agents may see
 * the credentials that they can use. An auditor may see all. Values are never shown.
 */
export function maySeeCredential(
  principal: Principal,
  { tier, ownerId }: CredentialOwner,
): boolean {
  return tier === 'org' || ownerId === principal.userId || principal.role === 'auditor';
}

/**
 * Writes hosts in the form in which they are compared: lower-case A-labels, a port only when it is
 * not 443, and no duplicates.
 */
export function parseHosts(hosts: readonly string[]): string[] {
  const parsedHosts = hosts.map((host, index) => {
    const url = /^[^\s/?#@\\*]+$/.test(host) ? URL.parse(`https://${host}`) : null;
    const isHostAlone =
      url !== null && url.pathname === '/' && url.search === '' && url.hash === '';
    if (isHostAlone && isHost(url.hostname)) return url.host;
    const message = 'must be a host such as api.example.com, without scheme, path or wildcard';
    throw new AppError('invalid_params', `An allowed host ${message}.`, {
      details: { issues: [{ path: `allowed_hosts.${index}`, message }] },
    });
  });
  return [...new Set(parsedHosts)];
}

/**
 * Parses a reference to a credential. A bare `name` means the user's own credential if there is
 * one, and otherwise the org's; `org/name` always means the org's.
 */
export function parseReference(reference: string): { name: string; orgOnly: boolean } {
  const orgOnly = reference.startsWith('org/');
  return { name: orgOnly ? reference.slice(4) : reference, orgOnly };
}

/** Finds the credential for a reference in a list of the credentials that the user can use. */
export function findReferenced<Named extends { readonly name: string; readonly tier: Tier }>(
  namedCredentials: readonly Named[],
  reference: string,
): Named | undefined {
  const { name, orgOnly } = parseReference(reference);
  const candidates = namedCredentials.filter((each) => each.name === name);
  const ownCredential = orgOnly ? undefined : candidates.find(({ tier }) => tier === 'user');
  return ownCredential ?? candidates.find(({ tier }) => tier === 'org');
}

/**
 * Those of the given hosts that are not yet allowed for the credential. Throws `host_not_allowed`
 * when the caller may not add them, or when the credential would have too many hosts.
 */
export function newHostsOf(
  principal: Principal,
  credential: CredentialOwner & { readonly allowedHosts: readonly string[] },
  {
    hosts,
    name,
  }: { hosts: readonly string[]; name: { kind: 'secret' | 'connection'; reference: string } },
): string[] {
  const { kind, reference } = name;
  const missing = hosts.filter((host) => !credential.allowedHosts.includes(host));
  if (missing.length === 0) return [];
  const hostNotAllowedError = (reason: string) =>
    new AppError('host_not_allowed', `The ${kind} "${reference}" ${reason}`, {
      details: { [kind]: reference, hosts: missing },
    });
  if (!mayWriteCredential(principal, credential)) {
    throw hostNotAllowedError(
      `may not go to ${missing.join(', ')}, and only its owner can change that.`,
    );
  }
  if (credential.allowedHosts.length + missing.length > secretHostsMax) {
    const remedy = kind === 'secret' ? 'take some away, or use another' : 'make another one';
    throw hostNotAllowedError(`goes to as many hosts as one may (${secretHostsMax}); ${remedy}.`);
  }
  return missing;
}

/** The reference to a credential as permission keys contain it. */
export function referenceOf({ tier, name }: { tier: Tier; name: string }): string {
  return tier === 'org' ? `org/${name}` : name;
}
