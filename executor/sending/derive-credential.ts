import type { Deadline } from '#bus';
import type { CredentialDerivation } from '#contracts/credential-derivation';
import type { Injection } from '#contracts/permit';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { SecretRefused } from '../derived-credentials/derived-tokens.ts';
import { readAwsKey } from '../derived-credentials/domain/aws-key.ts';
import { readParts } from '../derived-credentials/domain/secret-parts.ts';
import { createAwsSigner } from '../request/aws-signer.ts';
import type { Credential } from '../request/domain/inject.ts';

interface SecretToDerive {
  readonly orgId: string;
  /** The host of the request. The credential may go there. */
  readonly host: string;
  readonly injection: Injection;
  readonly usable: {
    readonly allowedHosts: readonly string[];
    readonly version: number;
    readonly refusedVersion: number | null;
    reveal(): string;
  };
  /** The serial of a token that the upstream has just refused. */
  readonly refused: number | undefined;
  readonly onRefused?: OnRefused | undefined;
}

/** Called for each credential that the provider refuses before the request of the call is sent. */
export type OnRefused = (credential: Pick<Credential, 'injection' | 'stored'>) => Promise<void>;

/** Derives the value for a request from a secret of several parts. */
export async function deriveCredential(
  { derivedTokens }: Pick<Deps, 'derivedTokens'>,
  { orgId, host, injection, usable, refused, onRefused }: SecretToDerive,
  deadline: Deadline,
): Promise<Credential> {
  const { credentialId: secretId, credentialName: name, derivation } = injection;
  const { version, refusedVersion } = usable;
  const stored = { version, refusedVersion };
  if (derivation === undefined) throw new Error('the secret is sent as it is');
  if (derivation.kind === 'aws_sigv4') {
    const key = readAwsKey(usable.reveal(), { name, derivation });
    const declared = secretPartsOf(usable.reveal(), derivation);
    // The session token is sent even when the template does not declare it as secret.
    const sources = [...new Set([...declared, ...[key.sessionToken ?? []].flat()])];
    const signer = createAwsSigner(key);
    return { injection, value: key.secretAccessKey, stored, sources, signer };
  }
  const { host: tokenHost } = new URL(derivation.tokenUrl);
  if (tokenHost !== host && !usable.allowedHosts.includes(tokenHost)) {
    throw new AppError(
      'host_not_allowed',
      `The secret "${name}" may not be sent to ${tokenHost}, which gives out the tokens; add the host to its allowed hosts.`,
      { details: { secret: name, host: tokenHost } },
    );
  }
  const reveal = () => usable.reveal();
  const secret = { orgId, secretId, name, version, derivation, reveal };
  const openingToken = derivedTokens.open(secret, { refused }, deadline);
  const { value, serial } = await openingToken.catch(async (error: unknown) => {
    if (error instanceof SecretRefused) await onRefused?.({ injection, stored });
    throw error;
  });
  return {
    injection,
    value,
    version: serial,
    stored,
    sources: secretPartsOf(reveal(), derivation),
  };
}

function secretPartsOf(value: string, { secret }: CredentialDerivation): string[] {
  const parts = readParts(value, { name: '', required: [] });
  return secret.flatMap((part) => parts.get(part) ?? []);
}
