import type { Principal, Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';

export interface SecretOwner {
  readonly tier: Tier;
  readonly ownerId: string | null;
}

/** The owner of a user's secret; an admin for the org's. Agents use secrets and never write them (decisions: Identities). */
export function mayWriteSecret(principal: Principal, { tier, ownerId }: SecretOwner): boolean {
  if (principal.kind !== 'user' || principal.role === null || principal.role === 'auditor')
    return false;
  return tier === 'org' ? principal.role === 'admin' : ownerId === principal.userId;
}

/** Names and hosts, never values: what the caller's chain can use, and everything for an auditor. */
export function maySeeSecret(principal: Principal, { tier, ownerId }: SecretOwner): boolean {
  return tier === 'org' || ownerId === principal.userId || principal.role === 'auditor';
}

/** A value has to survive a header unchanged: no line feed, no other control character. */
export function checkSecretValue(value: string): void {
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
    const isHost = url !== null && url.pathname === '/' && url.search === '' && url.hash === '';
    if (isHost && !url.hostname.endsWith('.') && url.hostname !== '') return url.host;
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

/** As it stands in permission keys. */
export function referenceOf({ tier, name }: { tier: Tier; name: string }): string {
  return tier === 'org' ? `org/${name}` : name;
}
