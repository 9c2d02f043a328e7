import { findPlainUriProblem, findRedirectUriProblem } from '#contracts/redirect-uri';
import { hiddenCharacters } from '#hidden-characters';

export type OauthClientKind = 'registered' | 'metadata_document' | 'seeded';

/** A stored OAuth client. All clients are public clients, so none has a secret. */
export interface OauthClient {
  readonly id: string;
  readonly kind: OauthClientKind;
  /** The name that the client chose. It is shown to people and never trusted. */
  readonly name: string;
  readonly softwareId: string | null;
  readonly redirectUris: readonly string[];
}

export type ClientFields = Pick<OauthClient, 'name' | 'softwareId' | 'redirectUris'>;

/** An error with the codes of RFC 7591 §3.2.2. */
export interface ClientProblem {
  readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata';
  readonly description: string;
}

const redirectUrisMax = 10;
const nameCharactersMax = 100;
const softwareIdCharactersMax = 200;
const defaultClientName = 'Unnamed client';
/** Control characters, invisible characters, and characters that reverse the direction of text. */
const invisibleCharacters = new RegExp(`[\\p{Cc}\\p{Cs}${hiddenCharacters}]`, 'gu');
/** More than three accents on one letter, which would cover the lines above and below. */
const excessAccents = /(?<=\p{M}{3})\p{M}+/gu;

/**
 * Reads the few fields of client metadata (RFC 7591 §2) that the gateway stores. All other fields
 * are ignored, so that no URL in them is ever stored, shown or requested. Every client becomes a
 * public client, whatever authentication method it requests. Redirect URIs that cannot be used are
 * left out, as RFC 7591 §3.2.1 allows. The metadata is refused when no redirect URI is left.
 */
export function readClientMetadata(
  metadata: Readonly<Record<string, unknown>>,
  addedSchemes: ReadonlySet<string>,
): ClientFields | ClientProblem {
  const uris = metadata['redirect_uris'];
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > redirectUrisMax) {
    return invalidRedirectProblem(`Send redirect_uris: a list of 1 to ${redirectUrisMax} URIs.`);
  }
  const problems = uris.map((uri) =>
    typeof uri === 'string'
      ? findRedirectUriProblem(uri, addedSchemes)
      : 'A redirect URI must be a string.',
  );
  const redirectUris = uris.filter((_, at) => problems[at] === undefined) as string[];
  const [problem] = problems;
  if (redirectUris.length === 0 && problem !== undefined) return invalidRedirectProblem(problem);
  const { response_types: responseTypes, grant_types: grantTypes } = metadata;
  if (!isAbsentOrIncludes(responseTypes, 'code')) {
    return invalidMetadataProblem('response_types must hold "code": there is no other flow.');
  }
  if (!isAbsentOrIncludes(grantTypes, 'authorization_code')) {
    return invalidMetadataProblem(
      'grant_types must hold "authorization_code": there is no other flow.',
    );
  }
  const softwareId = toPlainText(metadata['software_id'], softwareIdCharactersMax);
  return {
    name: toPlainText(metadata['client_name'], nameCharactersMax) ?? defaultClientName,
    softwareId: softwareId ?? null,
    redirectUris: [...new Set(redirectUris)],
  };
}

export function isClientProblem(
  readResult: ClientFields | ClientProblem,
): readResult is ClientProblem {
  return 'error' in readResult;
}

/**
 * Whether a `client_id` may be the URL of a metadata document: it has https, a path, and is already
 * in normalized form.
 */
export function isClientDocumentUrl(clientId: string): boolean {
  if (!clientId.startsWith('https://') || findPlainUriProblem(clientId) !== undefined) return false;
  const url = new URL(clientId);
  return url.href === clientId && url.pathname !== '/' && url.search === '';
}

function isAbsentOrIncludes(value: unknown, requiredItem: string): boolean {
  return value === undefined || (Array.isArray(value) && value.includes(requiredItem));
}

function toPlainText(value: unknown, charactersMax: number): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value
    .slice(0, 4 * charactersMax)
    .replaceAll(invisibleCharacters, '')
    .replaceAll(excessAccents, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  // Cutting the text can split a surrogate pair. The second replacement removes the remaining half.
  return (
    text
      .slice(0, charactersMax)
      .replace(/[\ud800-\udbff]$/, '')
      .trim() || undefined
  );
}

const invalidRedirectProblem = (description: string): ClientProblem => ({
  error: 'invalid_redirect_uri',
  description,
});
const invalidMetadataProblem = (description: string): ClientProblem => ({
  error: 'invalid_client_metadata',
  description,
});
