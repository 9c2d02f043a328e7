import type { Deadline } from '#bus';
import type { AccountPin } from '#contracts/account-value';
import type { CallTarget, Injection } from '#contracts/permit';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { missingScopes, scopeRowOf } from '#providers';
import { isWithin } from '#templates';
import type { Deps } from '../deps.ts';
import { readParts } from '../derived-credentials/domain/secret-parts.ts';
import { deriveCredential } from './derive-credential.ts';
import type { OnRefused } from './derive-credential.ts';
import { parseAddress } from '../request/domain/base-url.ts';
import type { Credential } from '../request/domain/inject.ts';
import type { PermitOrGap } from '../request/permit.ts';
import { requirePlainValue } from './require-plain-value.ts';

type CredentialDeps = Pick<Deps, 'vault' | 'openAccessToken' | 'authUrlOf' | 'derivedTokens'>;

/** The fields of a permit that decide which values a request may carry. */
export type InjectingPermit = Pick<
  PermitOrGap,
  'orgId' | 'userId' | 'injections' | 'target' | 'keys'
>;

interface CredentialQuery {
  readonly permit: InjectingPermit;
  /**
   * The called action. Undefined for a call by HTTP method and path or full URL, which needs no
   * scopes.
   */
  readonly action?: CompiledAction | undefined;
  /** The template of the action. */
  readonly template?: CompiledTemplate | undefined;
  readonly url: string;
  /** Credentials that the upstream has just refused. Newer access tokens are returned for them. */
  readonly refused?: readonly Credential[];
  readonly onRefused?: OnRefused | undefined;
}

/** A credential's value, with its owner and the hosts to which it may go. */
interface UsableCredential {
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly allowedHosts: readonly string[];
  readonly version: number;
  readonly refusedVersion: number | null;
  readonly provider?: string;
  readonly pin?: AccountPin | null;
  readonly grantedScopes?: readonly string[] | undefined;
  reveal(): string;
}

/**
 * Reads the current values of the credentials that a call injects. Throws unless each credential
 * may go to the host of the request, whatever the template says
 * (docs/reference/credentials.md#where-a-credential-may-go).
 */
export async function loadCredentials(
  deps: CredentialDeps,
  { permit, action, template, url, refused = [], onRefused }: CredentialQuery,
  deadline: Deadline,
): Promise<Credential[]> {
  const { host } = parseAddress(url);
  return Promise.all(
    permit.injections.map(async (injection): Promise<Credential> => {
      const { kind, credentialId, credentialName } = injection;
      const refusedCredential = refused.find(
        (each) => each.injection.credentialId === credentialId,
      );
      const usableCredential = await findUsableCredential(
        deps,
        { permit, injection, refused: refusedCredential?.version },
        deadline,
      );
      if (
        !usableCredential ||
        (usableCredential.tier === 'user' && usableCredential.ownerId !== permit.userId)
      ) {
        const remedy = kind === 'secret' ? 'Store the secret' : 'Connect';
        throw new AppError('credential_missing', `${remedy} "${credentialName}" first.`, {
          details: { [kind]: credentialName },
        });
      }
      if (!mayGoToHost(host, { usable: usableCredential, injection, permit })) {
        throw new AppError(
          'host_not_allowed',
          `The ${kind} "${credentialName}" may not be sent to ${host}; add the host to its allowed hosts.`,
          { details: { [kind]: credentialName, host } },
        );
      }
      requirePlace(usableCredential, { url, injection });
      if (permit.target.kind === 'action')
        checkScopes(deps, { usable: usableCredential, injection, action, template });
      const foundCredential = { orgId: permit.orgId, host, injection, usable: usableCredential };
      requireDerivation(injection);
      return injection.derivation === undefined
        ? toCredential(foundCredential, { target: permit.target, template })
        : deriveCredential(
            deps,
            { ...foundCredential, refused: refusedCredential?.version, onRefused },
            deadline,
          );
    }),
  );
}

/**
 * Throws unless the URL belongs to the site, company or tenant to which the token is bound, if the
 * account has several. Nothing else is reached with this token, whatever the registry, a template
 * or a permit contains (docs/reference/credentials.md#one-of-several).
 */
function requirePlace(
  { pin = null }: UsableCredential,
  { url, injection: { credentialName } }: { url: string; injection: Injection },
): void {
  if (pin === null || isWithin(pin.baseUrls, url)) return;
  throw new AppError(
    'host_not_allowed',
    `The connection "${credentialName}" opens ${pin.label} only, and this call goes elsewhere. Make another connection for it.`,
    { details: { connection: credentialName, account_value: pin.value } },
  );
}

/**
 * Refuses a permit from an earlier release of policy. That release does not know how a template
 * derives the value to be sent, so the secret itself would be sent.
 */
function requireDerivation({ encoding, derivation, credentialName }: Injection): void {
  if (encoding !== 'derived' || derivation !== undefined) return;
  throw new AppError(
    'unavailable',
    `What is sent for the secret "${credentialName}" is decided by an earlier release of policy, which cannot say how to derive it. Nothing was sent; try again once all components are upgraded.`,
    { details: { component: 'policy' } },
  );
}

interface FoundCredential {
  readonly orgId: string;
  /** The host of the request. */
  readonly host: string;
  readonly injection: Injection;
  readonly usable: UsableCredential;
}

function toCredential(
  { injection, usable }: FoundCredential,
  call: { target: CallTarget; template: CompiledTemplate | undefined },
): Credential {
  const { version, refusedVersion, pin } = usable;
  const isToken = injection.kind === 'connection';
  const value = revealValue(usable, injection);
  requirePlainValue(value, { ...call, injection });
  const credential = { injection, value, stored: { version, refusedVersion } };
  if (isToken) return { ...credential, version, pin };
  // A provider may repeat a single part of a secret of several parts. A call that names a secret
  // has no template that says which parts are secret, so all long parts are removed from the
  // answer.
  const sources = longPartsOf(value);
  return sources.length === 0 ? credential : { ...credential, sources };
}

/** Shorter parts, such as a kind or a country, also occur in answers by chance. */
const partCharactersMin = 8;

function longPartsOf(value: string): string[] {
  if (!value.startsWith('{')) return [];
  const parts = readParts(value, { name: '', required: [] });
  return [...parts.values()].filter(({ length }) => length >= partCharactersMin);
}

/**
 * Reveals a value. When a secret cannot be decrypted, the error names the secret, like the error
 * for a missing secret.
 */
function revealValue(credential: UsableCredential, { kind, credentialName }: Injection): string {
  try {
    return credential.reveal();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, details } = error;
    throw new AppError(code, message, {
      details: { ...details, [kind]: credentialName },
      cause: error,
    });
  }
}

async function findUsableCredential(
  { vault, openAccessToken }: CredentialDeps,
  {
    permit: { orgId },
    injection: { kind, credentialId },
    refused,
  }: { permit: InjectingPermit; injection: Injection; refused: number | undefined },
  deadline: Deadline,
): Promise<UsableCredential | undefined> {
  if (kind === 'secret') return vault.findSecret({ orgId, secretId: credentialId });
  const connectionKey = { orgId, connectionId: credentialId };
  return openAccessToken(
    refused === undefined ? connectionKey : { ...connectionKey, refused },
    deadline,
  );
}

/**
 * Checks that a token has the scopes of the action. Policy has checked that too, but a token with
 * fewer scopes may have been stored since.
 */
function checkScopes(
  { authUrlOf }: CredentialDeps,
  {
    usable: { provider, grantedScopes },
    injection: { credentialId, credentialName },
    action,
    template,
  }: { usable: UsableCredential; injection: Injection } & Pick<
    CredentialQuery,
    'action' | 'template'
  >,
): void {
  if (grantedScopes === undefined || provider === undefined || action === undefined) return;
  const missing = missingScopes(scopeRowOf(provider), {
    granted: grantedScopes,
    alternatives: alternativesOf(action, { template, provider }),
  });
  if (missing.length === 0) return;
  const query = `?scope=${encodeURIComponent(missing.join(' '))}`;
  throw new AppError(
    'missing_scopes',
    `The connection "${credentialName}" was not granted ${missing.join(', ')}. Have its owner grant it at auth_url, then call again.`,
    {
      details: {
        missing,
        connection: credentialName,
        auth_url: authUrlOf(credentialId) + query,
        connection_id: credentialId,
      },
    },
  );
}

/**
 * Lists of scopes, of which a token of this provider must have one completely. Policy has checked
 * with which security schemes the service is connected.
 */
function alternativesOf(
  action: CompiledAction,
  { template, provider }: { template: CompiledTemplate | undefined; provider: string },
): readonly (readonly string[])[] {
  const { security, minimumScopes } = action;
  // A template that an earlier release compiled has only the scopes of its first alternative.
  if (security === undefined) return [minimumScopes ?? []];
  const schemes = (template?.auth ?? [])
    .filter((method) => method.type === 'oauth2' && method.provider === provider)
    .map(({ scheme }) => scheme);
  return security.flatMap((needed) => {
    const scheme = schemes.find((each) => Object.hasOwn(needed, each));
    return scheme === undefined ? [] : [needed[scheme] ?? []];
  });
}

function mayGoToHost(
  host: string,
  {
    usable,
    injection,
    permit,
  }: { usable: UsableCredential; injection: Injection; permit: InjectingPermit },
): boolean {
  if (usable.allowedHosts.includes(host)) return true;
  // A user's secret without hosts may be used only in a call by full URL whose permit names this
  // secret.
  const isWithoutHosts = usable.allowedHosts.length === 0 && usable.tier === 'user';
  return (
    isWithoutHosts &&
    injection.kind === 'secret' &&
    permit.target.kind === 'raw' &&
    permit.keys.includes(`secret:${injection.credentialName}:${host}`)
  );
}
