import { cliClientId } from '#contracts/oauth';
import { createCaller } from '../../support/http.ts';
import { openBrowser } from '../../support/oauth-browser.ts';
import { authorization, redirectUri } from '../../support/oauth-world.ts';
import { created } from './world.ts';

/** Where clients sign in, and who lets them in. */
interface Place {
  readonly url: string;
  readonly admin: { readonly cookie: string };
}

/** An OAuth client that acts as an agent, with an access token of its own. */
export interface SignedInClient {
  readonly id: string;
  readonly token: string;
  readonly refreshToken: string;
}

/** Lets a client act as one of the admin's agents; one that registers for it when none is known. */
export async function signInClient(
  place: Place,
  agent: { readonly id: string },
  known?: string,
): Promise<SignedInClient> {
  const id = known ?? (await registerClient(place));
  return redeem(place, id, await authorizeClient(place, { client_id: id }, { agent: agent.id }));
}

export async function registerClient({ url }: Place): Promise<string> {
  const metadata = { client_name: 'Editor', redirect_uris: ['http://127.0.0.1/callback'] };
  return created(await createCaller(url, {}).post('/oauth/register', metadata)).client_id;
}

/** The client that acts as the admin itself. */
export async function signInAsUser(place: Place): Promise<SignedInClient> {
  return redeem(place, cliClientId, await authorizeClient(place, { client_id: cliClientId }));
}

export interface Authorized {
  readonly code: string;
  readonly verifier: string;
}

/** Up to the code, which is not redeemed. */
export async function authorizeClient(
  { url, admin }: Place,
  parameters: Record<string, string>,
  choice: { agent?: string } = {},
): Promise<Authorized> {
  const { url: start, verifier } = authorization(url, parameters);
  const answer = await openBrowser(url, { cookie: admin.cookie }).authorize(start, choice);
  return { code: answer.searchParams.get('code') ?? '', verifier };
}

export function redeem(
  place: Place,
  id: string,
  { code, verifier }: Authorized,
): Promise<SignedInClient> {
  const code_verifier = verifier;
  return requestTokens(place, id, {
    grant_type: 'authorization_code',
    redirect_uri: redirectUri,
    code,
    code_verifier,
  });
}

/** With what the client has after it. */
export function refresh(
  place: Place,
  { id, refreshToken }: SignedInClient,
): Promise<SignedInClient> {
  return requestTokens(place, id, { grant_type: 'refresh_token', refresh_token: refreshToken });
}

async function requestTokens(
  { url }: Place,
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
