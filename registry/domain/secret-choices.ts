import type { CompiledTemplate } from '#contracts/template';
import { nameReference } from '#contracts/vocabulary';
import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { didYouMean } from './nearest.ts';

/** Secret reference by security scheme: one way of authenticating. */
export type SecretChoice = Readonly<Record<string, string>>;

/**
 * The ways a service can be connected by secrets, in the template's order of preference. What
 * somebody gave goes before the template's default names; a service of the org takes the org's
 * secrets only, or everybody in it would act with one person's.
 */
export function listSecretChoices(
  template: CompiledTemplate,
  { given, tier }: { given: Readonly<Record<string, string>>; tier: Tier },
): SecretChoice[] {
  const defaults = new Map(
    template.auth.flatMap((method) =>
      method.type === 'apiKey' ? [[method.scheme, method.defaultSecretName] as const] : [],
    ),
  );
  const named = Object.keys(given);
  for (const scheme of named) checkGiven(scheme, given[scheme] ?? '', [...defaults.keys()]);
  if (template.security.length === 0 && named.length === 0) return [{}];

  const choices = template.security.filter(
    (schemes) =>
      schemes.every((scheme) => defaults.has(scheme)) &&
      named.every((scheme) => schemes.includes(scheme)),
  );
  if (choices.length === 0 && named.length > 0) {
    throw invalid(
      'credentials.secrets',
      `${template.title} does not take ${named.join(' and ')} together.`,
    );
  }
  if (choices.length === 0) {
    throw new AppError(
      'credential_missing',
      `${template.title} is connected by OAuth, which secrets cannot stand in for.`,
    );
  }
  return choices.map((schemes) =>
    Object.fromEntries(
      schemes.map((scheme) => [
        scheme,
        inTier(Object.hasOwn(given, scheme) ? given[scheme] : defaults.get(scheme), tier),
      ]),
    ),
  );
}

function checkGiven(scheme: string, reference: string, known: string[]): void {
  if (!known.includes(scheme)) {
    const hint = didYouMean(scheme, known);
    throw invalid(
      `credentials.secrets.${scheme}`,
      `The template has no security scheme "${scheme}" that takes a secret.${hint}`,
    );
  }
  if (!nameReference.safeParse(reference).success) {
    const message = `"${reference}" is not the name of a secret.`;
    throw invalid(`credentials.secrets.${scheme}`, message);
  }
}

function inTier(reference = '', tier: Tier): string {
  return tier === 'user' || reference.startsWith('org/') ? reference : `org/${reference}`;
}

function invalid(path: string, message: string): AppError {
  return new AppError('invalid_params', message, { details: { issues: [{ path, message }] } });
}
