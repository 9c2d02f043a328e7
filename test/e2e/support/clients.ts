import { createCaller } from '../../support/http.ts';
import { openBrowser } from '../../support/oauth-browser.ts';
import { authorization, redirectUri } from '../../support/oauth-world.ts';
import { created } from './world.ts';
import type { World } from './world.ts';

/** An OAuth client that acts as an agent, with an access token of its own. */
export interface SignedInClient {
  readonly id: string;
  readonly token: string;
}

/** Lets a client act as one of the admin's agents; one that registers for it when none is known. */
export async function signInClient(
  { url, admin }: World,
  agent: { readonly id: string },
  known?: string,
): Promise<SignedInClient> {
  const metadata = { client_name: 'Editor', redirect_uris: ['http://127.0.0.1/callback'] };
  const id: string =
    known ?? created(await createCaller(url, {}).post('/oauth/register', metadata)).client_id;
  const { url: start, verifier } = authorization(url, { client_id: id });
  const browser = openBrowser(url, { cookie: admin.cookie });
  const answer = await browser.authorize(start, { agent: agent.id });
  const reply = await fetch(`${url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: id,
      redirect_uri: redirectUri,
      code: answer.searchParams.get('code') ?? '',
      code_verifier: verifier,
    }),
  });
  const { access_token: token } = (await reply.json()) as { access_token: string };
  return { id, token };
}
