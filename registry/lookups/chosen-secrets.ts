import type { Deadline } from '#bus';
import type { CompiledTemplate } from '#contracts/template';
import type { Principal, Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { listSecretChoices } from '../domain/secret-choices.ts';
import type { SecretChoice } from '../domain/secret-choices.ts';
import { findExistingSecrets } from './existing-secrets.ts';
import type { ExistingSecret } from './existing-secrets.ts';

interface Wanted {
  readonly caller: Principal;
  readonly template: CompiledTemplate;
  readonly tier: Tier;
  readonly hosts: readonly string[];
  /** By security scheme. */
  readonly given: Readonly<Record<string, string>>;
  /** Whether the caller itself named `given`, for this template at these hosts. */
  readonly isNamed: boolean;
}

export interface ChosenSecrets {
  readonly secrets: SecretChoice;
  /** References that may not go to all of the service's hosts yet, and are to be let. */
  readonly toOpen: readonly string[];
}

/**
 * The first way in whose secrets are all there and may go to the service's hosts. Naming a
 * secret lets it go there. One that only has the name which the template suggests must be
 * allowed there already, or be new and the template built in: otherwise a template that takes
 * the place of another, or a version that goes elsewhere, would inherit its credentials.
 */
export async function chooseSecrets(
  { executor }: Pick<Deps, 'executor'>,
  wanted: Wanted,
  deadline: Deadline,
): Promise<ChosenSecrets> {
  const { caller, template, tier, given } = wanted;
  const { orgId, userId } = caller;
  const choices = listSecretChoices(template, { given, tier });
  const references = choices.flatMap((choice) => Object.values(choice));
  const existing = await findExistingSecrets(executor, { orgId, userId, references }, deadline);
  const refusals: AppError[] = [];
  for (const choice of choices) {
    const refusal = refusalOf(choice, existing, wanted);
    if (refusal === undefined) return settle(choice, existing, wanted);
    refusals.push(refusal);
  }
  // That a secret may not go there says more than that another one is missing.
  throw refusals.find(({ code }) => code === 'host_not_allowed') ?? refusals[0] ?? missing('');
}

function isNamedScheme({ isNamed, given }: Wanted, scheme: string): boolean {
  return isNamed && Object.hasOwn(given, scheme);
}

function refusalOf(
  choice: SecretChoice,
  existing: ReadonlyMap<string, ExistingSecret>,
  wanted: Wanted,
): AppError | undefined {
  const { template, hosts, given } = wanted;
  for (const [scheme, asked] of Object.entries(choice)) {
    const secret = existing.get(asked);
    if (secret === undefined) return missing(asked);
    if (isNamedScheme(wanted, scheme)) continue;
    const isNew = secret.allowedHosts.length === 0 && !Object.hasOwn(given, scheme);
    if (isNew && template.tier === 'global') continue;
    const closed = hosts.filter((host) => !secret.allowedHosts.includes(host));
    if (closed.length > 0) return notAllowed({ scheme, reference: secret.reference, closed });
  }
  return undefined;
}

function settle(
  choice: SecretChoice,
  existing: ReadonlyMap<string, ExistingSecret>,
  { hosts }: Wanted,
): ChosenSecrets {
  const chosen = Object.entries(choice).map(([scheme, asked]) => ({
    scheme,
    ...(existing.get(asked) ?? { reference: asked, allowedHosts: [] }),
  }));
  const toOpen = chosen.filter(({ allowedHosts }) =>
    hosts.some((host) => !allowedHosts.includes(host)),
  );
  return {
    secrets: Object.fromEntries(chosen.map(({ scheme, reference }) => [scheme, reference])),
    toOpen: [...new Set(toOpen.map(({ reference }) => reference))],
  };
}

function missing(secret: string): AppError {
  return new AppError(
    'credential_missing',
    `Store the secret "${secret}" first, or name another one under credentials.secrets.`,
    { details: { secret } },
  );
}

function notAllowed({
  scheme,
  reference,
  closed,
}: {
  scheme: string;
  reference: string;
  closed: readonly string[];
}): AppError {
  return new AppError(
    'host_not_allowed',
    `The secret "${reference}" does not go to ${closed.join(', ')} yet. To let it, name it under credentials.secrets.${scheme}; or name another.`,
    { details: { secret: reference, hosts: [...closed] } },
  );
}
