import type { AdapterPayload } from 'oidc-provider';

import type { OauthClient } from '../oauth-clients/domain/oauth-client.ts';
import { isClientDocumentUrl } from '../oauth-clients/domain/oauth-client.ts';
import { clientIdCharactersMax } from '#contracts/vocabulary';
import { findOauthClient } from '../oauth-clients/oauth-clients.sql.ts';
import type { OauthDeps } from './deps.ts';
import { getRequestScope } from './request-scope.ts';

/**
 * Finds a registered client, a seeded client, or a client whose id is the URL of its metadata
 * document. The document is fetched only for a signed-in user (`mayFetch`), so that strangers
 * cannot cause requests. Token requests use the stored content, because the user authorized the
 * client that it describes.
 */
export async function findClient(
  deps: OauthDeps,
  id: string,
  { mayFetch }: { mayFetch: boolean },
): Promise<OauthClient | undefined> {
  if (id.length > clientIdCharactersMax || !/^[\x21-\x7e]+$/.test(id)) return undefined;
  const client = await findOauthClient(deps.db, { id });
  if (client?.isCurrent === true || !mayFetch) return client;
  return isClientDocumentUrl(id) ? deps.clientDocuments.read(id) : undefined;
}

export async function findClientMetadata(
  deps: OauthDeps,
  id: string,
): Promise<AdapterPayload | undefined> {
  const client = await findClient(deps, id, { mayFetch: getRequestScope().caller !== null });
  return client && toLibraryMetadata(client);
}

/**
 * Converts a client to the form of the library. With `native`, loopback URIs match any port (RFC
 * 8252 §7.3).
 */
function toLibraryMetadata(client: OauthClient): AdapterPayload {
  return {
    client_id: client.id,
    client_name: client.name,
    redirect_uris: [...client.redirectUris],
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  };
}
