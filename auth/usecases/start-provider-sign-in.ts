import { buildAuthorizationUrl, calculatePKCECodeChallenge } from 'openid-client';

import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { findOrgToSignIn } from '../repository/orgs.ts';
import { insertFlow } from '../repository/sign-in-flows.ts';
import { secretsOf, sha256 } from '../sign-in/flow-secrets.ts';

interface StartFields {
  readonly org: string | null;
  readonly key: string;
  readonly returnTo: string | null;
  readonly browserToken: string | null;
}

const tokenShape = /^[A-Za-z0-9_-]{43}$/;

/** Begins a sign-in at a provider: code flow with PKCE, state and nonce, bound to this browser. */
export async function startProviderSignIn(
  { db, providers, randomBytes }: Deps,
  { org: orgName, key, returnTo, browserToken: given }: StartFields,
): Promise<{ url: string; browserToken: string }> {
  const org = await findOrgToSignIn(db, { name: orgName });
  const provider = org && (await providers.find({ orgId: org.id, key }));
  if (provider === undefined) throw new AppError('not_found', 'There is no such way to sign in.');
  const configuration = await provider.connect();

  // Several tabs share the browser's token; each has its own state.
  const browserToken = given !== null && tokenShape.test(given) ? given : randomText(randomBytes);
  const state = randomText(randomBytes);
  const { nonce, verifier } = secretsOf({ browserToken, state });
  await insertFlow(db, {
    stateHash: sha256(state),
    browserHash: sha256(browserToken),
    orgId: provider.orgId,
    providerKey: key,
    returnTo,
  });
  const url = buildAuthorizationUrl(configuration, {
    redirect_uri: providers.redirectUriOf(key),
    scope: provider.scopes.join(' '),
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  return { url: url.href, browserToken };
}

function randomText(randomBytes: Deps['randomBytes']): string {
  return Buffer.from(randomBytes(32)).toString('base64url');
}
