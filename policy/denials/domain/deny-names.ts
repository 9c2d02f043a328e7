import type { DerivedKey, Injection } from '#contracts/permit';
import type { HttpMethod, Risk } from '#contracts/vocabulary';
import { encodeAsterisks, encodeName, withoutOrg } from '#permission-key';
import { tokenHostOf } from '#templates';
import { addressArguments, argumentsOfKeys } from './deny-arguments.ts';
import type { DenyName } from './deny-patterns.ts';

/** A name under which deny rules match a call, with the risk of the operation that it names. */
export interface RatedName extends DenyName {
  readonly risk: Risk;
  /**
   * Set when the name is an operation that a call by method and path may be: whether the caller can
   * call this action of this service instead.
   */
  readonly operation?: 'connected' | 'not_connected';
}

/** All names of a service: its own name, that name without `org/`, and the key of its template. */
export function namesOf(service: string, templateKey: string): string[] {
  return [...new Set([service, withoutOrg(service), templateKey])];
}

/** The names of an action call: its permission keys, under every name of the service. */
export function listActionNames(
  services: readonly string[],
  { action, keys, risk }: { action: string; keys: readonly DerivedKey[]; risk: Risk },
): RatedName[] {
  const args = argumentsOfKeys(keys);
  return services.map((service) => ({
    service: encodeName(service),
    action: encodeName(action),
    args,
    risk,
  }));
}

type Credential = Pick<Injection, 'kind' | 'credentialName' | 'derivation'>;

/** The names under which deny rules match an action call by its address or its credentials. */
export function listAddressNames(
  { method, host, path, risk }: { method: HttpMethod; host: string; path: string; risk: Risk },
  credentials: readonly Credential[],
): RatedName[] {
  // An argument may contain an encoded slash, which some servers decode.
  const paths = new Set([path, path.replaceAll(/%2F/gi, '/')]);
  const args = [...paths].flatMap((each) => addressArguments(encodeAsterisks(`${host}${each}`)));
  return [
    { service: 'http', action: method, args, risk, needs: 'host' },
    ...listCredentialNames(credentials, { host, risk }),
  ];
}

/**
 * The permission keys of the credentials that an action call uses, each with and without `org/`. If
 * a credential is derived from a secret, the secret is also sent to the host that issues the
 * tokens, so the key for that host is included.
 */
export function listCredentialNames(
  credentials: readonly Credential[],
  { host, risk }: { host: string; risk: Risk },
): RatedName[] {
  return credentials.flatMap((credential) =>
    spellingsOf(credential).map((name) => ({
      service: credential.kind,
      action: encodeName(name),
      args: [host, ...tokenHostsOf(credential)],
      risk,
      needs: 'credential' as const,
    })),
  );
}

/**
 * Further permission keys that deny rules are compared with, for a call by HTTP method: the key of
 * an org's credential without `org/`, and the keys of the hosts that issue tokens.
 */
export function listAliasKeys(
  credentials: readonly Credential[],
  { host, risk }: { host: string; risk: Risk },
): RatedName[] {
  return credentials.flatMap((credential) =>
    spellingsOf(credential).flatMap((name) => {
      const isOwn = name === credential.credentialName;
      const args = [...(isOwn ? [] : [host]), ...tokenHostsOf(credential)];
      return args.length === 0
        ? []
        : [{ service: credential.kind, action: encodeName(name), args, risk }];
    }),
  );
}

function spellingsOf({ credentialName }: Credential): string[] {
  return [...new Set([credentialName, withoutOrg(credentialName)])];
}

function tokenHostsOf({ derivation }: Credential): string[] {
  return [tokenHostOf(derivation) ?? []].flat();
}
