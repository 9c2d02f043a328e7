import { isHost } from '#addresses';
import { secretHostsMax } from '#contracts/http/secrets';
import type { Principal, Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';

/** Secrets and connections go by the same rules: whose they are, who changes them, where they may go. */
export interface CredentialOwner {
  readonly tier: Tier;
  readonly ownerId: string | null;
}

/**
 * The owner writes a user's credential, an admin the org's. Agents use credentials and never write
 * them (docs/reference/credentials.md#who-writes-credentials).
 */
export function mayWriteCredential(
  principal: Principal,
  { tier, ownerId }: CredentialOwner,
): boolean {
  if (principal.kind !== 'user' || principal.role === null || principal.role === 'auditor')
    return false;
  return tier === 'org' ? principal.role === 'admin' : ownerId === principal.userId;
}

/** Names and hosts, never values: what the caller's chain can use, and everything for an auditor. */
export function maySeeCredential(
  principal: Principal,
  { tier, ownerId }: CredentialOwner,
): boolean {
  return tier === 'org' || ownerId === principal.userId || principal.role === 'auditor';
}

/** A shorter value is part of many answers by chance, so it could not be kept out of them. */
const valueCharactersMin = 4;

/** A value has to survive a header unchanged: no line feed, no other control character. */
export function checkSecretValue(value: string): void {
  if (value.length < valueCharactersMin) {
    const message = `must have at least ${valueCharactersMin} characters`;
    throw new AppError(
      'invalid_params',
      `The value of a secret ${message}: a shorter one could not be kept out of answers.`,
      { details: { issues: [{ path: 'value', message }] } },
    );
  }
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (!/[\u0000-\u001f\u007f-\u009f]/.test(value) && value.isWellFormed()) return;
  const message = 'must not hold line breaks or other control characters';
  throw new AppError('invalid_params', `The value of a secret ${message}. Check what was pasted.`, {
    details: { issues: [{ path: 'value', message }] },
  });
}

/** Hosts in the form in which they are compared, each once: lower-case A-labels, a port only when it is not 443. */
export function parseHosts(hosts: readonly string[]): string[] {
  const parsed = hosts.map((host, at) => {
    const url = /^[^\s/?#@\\*]+$/.test(host) ? URL.parse(`https://${host}`) : null;
    const isAlone = url !== null && url.pathname === '/' && url.search === '' && url.hash === '';
    if (isAlone && isHost(url.hostname)) return url.host;
    const message = 'must be a host such as api.example.com, without scheme, path or wildcard';
    throw new AppError('invalid_params', `An allowed host ${message}.`, {
      details: { issues: [{ path: `allowed_hosts.${at}`, message }] },
    });
  });
  return [...new Set(parsed)];
}

/** `name` of the user's own or else the org's; `org/name` of the org's. */
export function parseReference(reference: string): { name: string; orgOnly: boolean } {
  const orgOnly = reference.startsWith('org/');
  return { name: orgOnly ? reference.slice(4) : reference, orgOnly };
}

/** What a reference stands for among the credentials that a user can use. */
export function findReferenced<Named extends { readonly name: string; readonly tier: Tier }>(
  found: readonly Named[],
  reference: string,
): Named | undefined {
  const { name, orgOnly } = parseReference(reference);
  const candidates = found.filter((each) => each.name === name);
  const own = orgOnly ? undefined : candidates.find(({ tier }) => tier === 'user');
  return own ?? candidates.find(({ tier }) => tier === 'org');
}

/**
 * Which of these hosts a credential may not go to yet, for a caller who may let it. Throws
 * `host_not_allowed` to anybody else, and where they would become too many.
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
  const refuse = (why: string) =>
    new AppError('host_not_allowed', `The ${kind} "${reference}" ${why}`, {
      details: { [kind]: reference, hosts: missing },
    });
  if (!mayWriteCredential(principal, credential)) {
    throw refuse(`may not go to ${missing.join(', ')}, and only its owner can change that.`);
  }
  if (credential.allowedHosts.length + missing.length > secretHostsMax) {
    const remedy = kind === 'secret' ? 'take some away, or use another' : 'make another one';
    throw refuse(`goes to as many hosts as one may (${secretHostsMax}); ${remedy}.`);
  }
  return missing;
}

/** As it stands in permission keys. */
export function referenceOf({ tier, name }: { tier: Tier; name: string }): string {
  return tier === 'org' ? `org/${name}` : name;
}
