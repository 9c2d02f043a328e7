import type { TokenActor } from '#contracts/oauth-provider';
import type { AuthMethod, CompiledTemplate } from '#contracts/template';
import { nameReference } from '#contracts/vocabulary';
import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { didYouMean } from '../../document/domain/nearest.ts';

/** The credentials that a request names: secrets by security scheme, and a connection. */
export interface GivenCredentials {
  readonly secrets: Readonly<Record<string, string>>;
  readonly connection: string | null;
}

/** Reads the credentials of a request body. Both fields are optional in the body. */
export function credentialsIn({
  secrets = {},
  connection = null,
}: {
  secrets?: Readonly<Record<string, string>> | undefined;
  connection?: string | null | undefined;
}): GivenCredentials {
  return { secrets, connection };
}

/** One alternative of the template's `security`, with the credentials that it needs. */
export interface CredentialChoice {
  /** A secret reference for each security scheme that needs a secret. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The security schemes of the alternative. */
  readonly schemes: readonly string[];
  /** Whom the connection must act as at the provider, such as a person or a bot. */
  readonly actsAs: TokenActor | null;
  /** The provider of the connection; null when the alternative has no OAuth scheme. */
  readonly provider: string | null;
}

/**
 * Lists the alternatives that a service can use, in the template's order of preference. A
 * credential that the request names replaces the name that the template suggests. A service of the
 * org may use only credentials of the org: otherwise all users would act with the credentials of
 * one person.
 */
export function listCredentialChoices(
  template: CompiledTemplate,
  { given, tier }: { given: GivenCredentials; tier: Tier },
): CredentialChoice[] {
  const namedSchemes = Object.keys(given.secrets);
  for (const scheme of namedSchemes)
    checkGivenSecret(template, scheme, given.secrets[scheme] ?? '');
  const isAnyGiven = namedSchemes.length > 0 || given.connection !== null;
  if (template.security.length === 0 && !isAnyGiven)
    return [{ schemes: [], secrets: {}, provider: null, actsAs: null }];

  const methodsByAlternative = template.security.map((schemes) =>
    schemes.flatMap((scheme) => template.auth.find((each) => each.scheme === scheme) ?? []),
  );
  const choices = methodsByAlternative.flatMap((methods, index) => {
    const areAllMethodsKnown = methods.length === template.security[index]?.length;
    const providers = new Set(
      methods.flatMap((each) => (each.type === 'oauth2' ? each.provider : [])),
    );
    const [provider = null] = providers;
    const takesGivenCredentials =
      namedSchemes.every((scheme) => methods.some((method) => method.scheme === scheme)) &&
      (given.connection === null || provider !== null);
    // A service has at most one connection, so an alternative with two providers cannot be used.
    if (!areAllMethodsKnown || providers.size > 1 || !takesGivenCredentials) return [];
    const actsAs = methods.find(({ type }) => type === 'oauth2')?.actsAs ?? null;
    const schemes = methods.map(({ scheme }) => scheme);
    return [{ schemes, secrets: chooseSecrets(methods, given.secrets, tier), provider, actsAs }];
  });
  if (choices.length > 0) return choices;
  if (isAnyGiven) throw notAccepted(template, given);
  throw new AppError(
    'credential_missing',
    `${template.title} can be connected by accounts of several providers together only, which is not supported.`,
  );
}

function chooseSecrets(
  methods: readonly AuthMethod[],
  givenSecrets: GivenCredentials['secrets'],
  tier: Tier,
): Record<string, string> {
  return Object.fromEntries(
    methods.flatMap((method) => {
      if (method.type !== 'apiKey') return [];
      const { scheme, defaultSecretName } = method;
      const reference = Object.hasOwn(givenSecrets, scheme) ? givenSecrets[scheme] : undefined;
      return [[scheme, toReferenceInTier(reference ?? defaultSecretName, tier)]];
    }),
  );
}

function checkGivenSecret({ auth }: CompiledTemplate, scheme: string, reference: string): void {
  const knownSchemes = auth.flatMap((method) => (method.type === 'apiKey' ? [method.scheme] : []));
  if (!knownSchemes.includes(scheme)) {
    const hint =
      didYouMean(scheme, knownSchemes) ||
      (knownSchemes.length > 0 ? ` Known: ${knownSchemes.join(', ')}.` : '');
    throw invalidParams(
      `credentials.secrets.${scheme}`,
      `The template has no security scheme "${scheme}" that takes a secret.${hint}`,
    );
  }
  if (!nameReference.safeParse(reference).success) {
    const message = `"${reference}" is not the name of a secret.`;
    throw invalidParams(`credentials.secrets.${scheme}`, message);
  }
}

function notAccepted(
  { title }: CompiledTemplate,
  { secrets, connection }: GivenCredentials,
): AppError {
  const schemeNames = Object.keys(secrets);
  if (connection === null) {
    const message = `${title} does not take ${schemeNames.join(' and ')} together.`;
    return invalidParams('credentials.secrets', message);
  }
  const besides = schemeNames.length === 0 ? '' : ` together with ${schemeNames.join(' and ')}`;
  return invalidParams('credentials.connection', `${title} does not take a connection${besides}.`);
}

export function toReferenceInTier(reference: string, tier: Tier): string {
  return tier === 'user' || reference.startsWith('org/') ? reference : `org/${reference}`;
}

export function invalidParams(path: string, message: string): AppError {
  return new AppError('invalid_params', message, { details: { issues: [{ path, message }] } });
}
