import type { AdapterPayload } from 'oidc-provider';

import type { OauthClient } from '../domain/oauth-client.ts';
import { isClientDocumentUrl } from '../domain/oauth-client.ts';
import { clientIdCharactersMax } from '#contracts/vocabulary';
import { findOauthClient } from '../repository/oauth-clients.ts';
import type { OauthDeps } from './deps.ts';
import { requestScope } from './request-scope.ts';

/**
 * A client by its id: registered, seeded, or described by the document its id names. Documents
 * are read for somebody who is signed in (`mayFetch`), so that strangers cannot make us dial;
 * clients that exchange or refresh tokens were let in before, and count as they were then.
 */
export async function findClient(
  deps: OauthDeps,
  id: string,
  { mayFetch }: { mayFetch: boolean },
): Promise<OauthClient | undefined> {
  if (id.length > clientIdCharactersMax || !/^[\x21-\x7e]+$/.test(id)) return undefined;
  const found = await findOauthClient(deps.db, { id });
  if (found?.isCurrent === true || !mayFetch) return found;
  return isClientDocumentUrl(id) ? deps.documents.read(id) : undefined;
}

export async function findClientMetadata(
  deps: OauthDeps,
  id: string,
): Promise<AdapterPayload | undefined> {
  const client = await findClient(deps, id, { mayFetch: requestScope().caller !== null });
  return client && clientMetadata(client);
}

/** As the library reads it. `native`, so that loopback URIs match on any port (RFC 8252 §7.3). */
function clientMetadata(client: OauthClient): AdapterPayload {
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
