import { whyNotPlain, whyNotRedirectUri } from './redirect-uri.ts';

export type OauthClientKind = 'registered' | 'metadata_document' | 'seeded';

/** What is kept of a client: it is public, so nothing of it is secret. */
export interface OauthClient {
  readonly id: string;
  readonly kind: OauthClientKind;
  /** As it calls itself: shown to people, never relied upon. */
  readonly name: string;
  readonly softwareId: string | null;
  readonly redirectUris: readonly string[];
}

export type ClientFields = Pick<OauthClient, 'name' | 'softwareId' | 'redirectUris'>;

/** Error codes of RFC 7591 §3.2.2. */
export interface ClientProblem {
  readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata';
  readonly description: string;
}

const redirectUrisMax = 10;
const nameCharactersMax = 100;
const softwareIdCharactersMax = 200;
const unnamed = 'Unnamed client';
/** Controls, invisible marks and those that reverse the direction of text: a name is one plain line. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu;

/**
 * What is kept of client metadata (RFC 7591 §2): every other field is dropped unread, so that
 * nothing in it is ever stored, shown or dialled. Whatever authentication the client names, it
 * becomes a public one.
 */
export function readClientMetadata(
  metadata: Readonly<Record<string, unknown>>,
): ClientFields | ClientProblem {
  const uris = metadata['redirect_uris'];
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > redirectUrisMax) {
    return invalidRedirect(`Send redirect_uris: a list of 1 to ${redirectUrisMax} URIs.`);
  }
  for (const uri of uris) {
    const problem =
      typeof uri === 'string' ? whyNotRedirectUri(uri) : 'A redirect URI must be a string.';
    if (problem !== undefined) return invalidRedirect(problem);
  }
  const { response_types: responseTypes, grant_types: grantTypes } = metadata;
  if (!isAbsentOrHas(responseTypes, 'code')) {
    return invalidMetadata('response_types must hold "code": there is no other flow.');
  }
  if (!isAbsentOrHas(grantTypes, 'authorization_code')) {
    return invalidMetadata('grant_types must hold "authorization_code": there is no other flow.');
  }
  const softwareId = plainText(metadata['software_id'], softwareIdCharactersMax);
  return {
    name: plainText(metadata['client_name'], nameCharactersMax) ?? unnamed,
    softwareId: softwareId ?? null,
    redirectUris: [...new Set(uris as string[])],
  };
}

export function isClientProblem(read: ClientFields | ClientProblem): read is ClientProblem {
  return 'error' in read;
}

/** Whether a `client_id` may be the URL of a metadata document: https, a path, and nothing a URL parser rewrites. */
export function isClientDocumentUrl(clientId: string): boolean {
  if (!clientId.startsWith('https://') || whyNotPlain(clientId) !== undefined) return false;
  const url = new URL(clientId);
  return url.href === clientId && url.pathname !== '/' && url.search === '';
}

function isAbsentOrHas(value: unknown, entry: string): boolean {
  return value === undefined || (Array.isArray(value) && value.includes(entry));
}

function plainText(value: unknown, charactersMax: number): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value
    .slice(0, 4 * charactersMax)
    .replaceAll(invisible, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  // Not in the middle of a character.
  return (
    text
      .slice(0, charactersMax)
      .replace(/[\ud800-\udbff]$/, '')
      .trim() || undefined
  );
}

const invalidRedirect = (description: string): ClientProblem => ({
  error: 'invalid_redirect_uri',
  description,
});
const invalidMetadata = (description: string): ClientProblem => ({
  error: 'invalid_client_metadata',
  description,
});
