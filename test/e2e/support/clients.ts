import { cliClientId } from '#contracts/oauth';
import { createCaller } from '../../support/http.ts';
import { openBrowser } from '../../support/oauth-browser.ts';
import { authorization, redirectUri } from '../../support/oauth-world.ts';
import { created } from './world.ts';
import type { World } from './world.ts';

/** An OAuth client that acts as an agent, with an access token of its own. */
export interface SignedInClient {
  readonly id: string;
  readonly token: string;
  readonly refreshToken: string;
}

/** Lets a client act as one of the admin's agents; one that registers for it when none is known. */
export async function signInClient(
  world: World,
  agent: { readonly id: string },
  known?: string,
): Promise<SignedInClient> {
  const id = known ?? (await registerClient(world));
  return redeem(world, id, await authorizeClient(world, { client_id: id }, { agent: agent.id }));
}

export async function registerClient({ url }: World): Promise<string> {
  const metadata = { client_name: 'Editor', redirect_uris: ['http://127.0.0.1/callback'] };
  return created(await createCaller(url, {}).post('/oauth/register', metadata)).client_id;
}

/** The client that acts as the admin itself. */
export async function signInAsUser(world: World): Promise<SignedInClient> {
  return redeem(world, cliClientId, await authorizeClient(world, { client_id: cliClientId }));
}

export interface Authorized {
  readonly code: string;
  readonly verifier: string;
}

/** Up to the code, which is not redeemed. */
export async function authorizeClient(
  { url, admin }: World,
  parameters: Record<string, string>,
  choice: { agent?: string } = {},
): Promise<Authorized> {
  const { url: start, verifier } = authorization(url, parameters);
  const answer = await openBrowser(url, { cookie: admin.cookie }).authorize(start, choice);
  return { code: answer.searchParams.get('code') ?? '', verifier };
}

export async function redeem(
  { url }: World,
  id: string,
  { code, verifier }: Authorized,
): Promise<SignedInClient> {
  const reply = await fetch(`${url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: id,
      redirect_uri: redirectUri,
      code,
      code_verifier: verifier,
    }),
  });
  const { access_token: token, refresh_token: refreshToken } = (await reply.json()) as {
    access_token: string;
    refresh_token: string;
  };
  return { id, token, refreshToken };
}
