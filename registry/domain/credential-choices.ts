import type { AuthMethod, CompiledTemplate } from '#contracts/template';
import { nameReference } from '#contracts/vocabulary';
import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { didYouMean } from './nearest.ts';

/** What somebody gave to authenticate with: secrets by security scheme, and a connection. */
export interface GivenCredentials {
  readonly secrets: Readonly<Record<string, string>>;
  readonly connection: string | null;
}

/** The same from a body in which both may be left out. */
export function givenIn({
  secrets = {},
  connection = null,
}: {
  secrets?: Readonly<Record<string, string>> | undefined;
  connection?: string | null | undefined;
}): GivenCredentials {
  return { secrets, connection };
}

/** One way of authenticating. */
export interface CredentialChoice {
  /** Secret reference by security scheme. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Of the connection that its OAuth schemes take; null when it has none. */
  readonly provider: string | null;
}

/**
 * The ways a service can be connected, in the template's order of preference. What somebody gave
 * goes before the template's default names; a service of the org takes the org's credentials
 * only, or everybody in it would act with one person's.
 */
export function listCredentialChoices(
  template: CompiledTemplate,
  { given, tier }: { given: GivenCredentials; tier: Tier },
): CredentialChoice[] {
  const named = Object.keys(given.secrets);
  for (const scheme of named) checkGiven(template, scheme, given.secrets[scheme] ?? '');
  const isAnyGiven = named.length > 0 || given.connection !== null;
  if (template.security.length === 0 && !isAnyGiven) return [{ secrets: {}, provider: null }];

  const ways = template.security.map((schemes) =>
    schemes.flatMap((scheme) => template.auth.find((each) => each.scheme === scheme) ?? []),
  );
  const choices = ways.flatMap((methods, at) => {
    const isWhole = methods.length === template.security[at]?.length;
    const providers = new Set(
      methods.flatMap((each) => (each.type === 'oauth2' ? each.provider : [])),
    );
    const [provider = null] = providers;
    const takesGiven =
      named.every((scheme) => methods.some((method) => method.scheme === scheme)) &&
      (given.connection === null || provider !== null);
    // One service has one connection.
    if (!isWhole || providers.size > 1 || !takesGiven) return [];
    return [{ secrets: secretsOf(methods, given.secrets, tier), provider }];
  });
  if (choices.length > 0) return choices;
  if (isAnyGiven) throw notTaken(template, given);
  throw new AppError(
    'credential_missing',
    `${template.title} can be connected by accounts of several providers together only, which is not supported.`,
  );
}

function secretsOf(
  methods: readonly AuthMethod[],
  given: GivenCredentials['secrets'],
  tier: Tier,
): Record<string, string> {
  return Object.fromEntries(
    methods.flatMap((method) => {
      if (method.type !== 'apiKey') return [];
      const { scheme, defaultSecretName } = method;
      const reference = Object.hasOwn(given, scheme) ? given[scheme] : undefined;
      return [[scheme, inTier(reference ?? defaultSecretName, tier)]];
    }),
  );
}

function checkGiven({ auth }: CompiledTemplate, scheme: string, reference: string): void {
  const known = auth.flatMap((method) => (method.type === 'apiKey' ? [method.scheme] : []));
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

function notTaken(
  { title }: CompiledTemplate,
  { secrets, connection }: GivenCredentials,
): AppError {
  const named = Object.keys(secrets);
  if (connection === null) {
    const message = `${title} does not take ${named.join(' and ')} together.`;
    return invalid('credentials.secrets', message);
  }
  const besides = named.length === 0 ? '' : ` together with ${named.join(' and ')}`;
  return invalid('credentials.connection', `${title} does not take a connection${besides}.`);
}

export function inTier(reference: string, tier: Tier): string {
  return tier === 'user' || reference.startsWith('org/') ? reference : `org/${reference}`;
}

export function invalid(path: string, message: string): AppError {
  return new AppError('invalid_params', message, { details: { issues: [{ path, message }] } });
}
