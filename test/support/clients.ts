import { cliClientId } from '#contracts/oauth';
import { createCaller } from './http.ts';
import { openBrowser } from './oauth-browser.ts';
import { createAuthorizationRequest, redirectUri } from './oauth-world.ts';
import { successfulBodyOf } from './world.ts';

/** The gateway at which clients sign in, and the admin who gives consent. */
interface GatewayPlace {
  readonly url: string;
  readonly admin: { readonly cookie: string };
}

/** An OAuth client that acts as an agent, and its own tokens. */
export interface SignedInClient {
  readonly id: string;
  readonly token: string;
  readonly refreshToken: string;
}

/**
 * Signs in a client that acts as one of the admin's agents. Registers a new client unless the id of
 * a known client is given.
 */
export async function signInClient(
  place: GatewayPlace,
  agent: { readonly id: string },
  knownClientId?: string,
): Promise<SignedInClient> {
  const id = knownClientId ?? (await registerClient(place));
  return redeemCode(
    place,
    id,
    await authorizeClient(place, { client_id: id }, { agent: agent.id }),
  );
}

export async function registerClient({ url }: GatewayPlace): Promise<string> {
  const metadata = { client_name: 'Editor', redirect_uris: ['http://127.0.0.1/callback'] };
  return successfulBodyOf(await createCaller(url, {}).post('/oauth/register', metadata)).client_id;
}

/** Signs in the command line's client, which acts as the admin. */
export async function signInAsUser(place: GatewayPlace): Promise<SignedInClient> {
  return redeemCode(place, cliClientId, await authorizeClient(place, { client_id: cliClientId }));
}

export interface AuthorizationCode {
  readonly code: string;
  readonly verifier: string;
}

/** Runs the authorization until the client gets the code. Does not exchange the code for tokens. */
export async function authorizeClient(
  { url, admin }: GatewayPlace,
  parameters: Record<string, string>,
  consentChoice: { agent?: string } = {},
): Promise<AuthorizationCode> {
  const { url: start, verifier } = createAuthorizationRequest(url, parameters);
  const answer = await openBrowser(url, { cookie: admin.cookie }).authorize(start, consentChoice);
  return { code: answer.searchParams.get('code') ?? '', verifier };
}

export function redeemCode(
  place: GatewayPlace,
  id: string,
  { code, verifier }: AuthorizationCode,
): Promise<SignedInClient> {
  const code_verifier = verifier;
  return requestTokens(place, id, {
    grant_type: 'authorization_code',
    redirect_uri: redirectUri,
    code,
    code_verifier,
  });
}

/** Uses the client's latest refresh token to get new tokens. */
export function refreshTokens(
  place: GatewayPlace,
  { id, refreshToken }: SignedInClient,
): Promise<SignedInClient> {
  return requestTokens(place, id, { grant_type: 'refresh_token', refresh_token: refreshToken });
}

async function requestTokens(
  { url }: GatewayPlace,
  id: string,
  form: Readonly<Record<string, string>>,
): Promise<SignedInClient> {
  const reply = await fetch(`${url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: id, ...form }),
  });
  const { access_token: token, refresh_token: refreshToken } = (await reply.json()) as {
    access_token: string;
    refresh_token: string;
  };
  return { id, token, refreshToken };
}
