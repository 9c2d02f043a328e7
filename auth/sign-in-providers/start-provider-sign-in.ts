import { buildAuthorizationUrl, calculatePKCECodeChallenge } from 'openid-client';

import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { findOrgToSignIn } from '../orgs/orgs.sql.ts';
import { insertSignInFlow } from './sign-in-flows.sql.ts';
import { deriveFlowSecrets, sha256 } from './flow-secrets.ts';

interface StartSignInFields {
  readonly org: string | null;
  readonly key: string;
  readonly returnTo: string | null;
  readonly browserToken: string | null;
}

const browserTokenPattern = /^[A-Za-z0-9_-]{43}$/;

/**
 * Starts a sign-in at a provider: a code flow with PKCE, state and nonce, bound to this browser.
 */
export async function startProviderSignIn(
  { db, providers, randomBytes }: Deps,
  { org: orgName, key, returnTo, browserToken: givenToken }: StartSignInFields,
): Promise<{ url: string; browserToken: string }> {
  const org = await findOrgToSignIn(db, { name: orgName });
  const provider = org && (await providers.find({ orgId: org.id, key }));
  if (provider === undefined) throw new AppError('not_found', 'There is no such way to sign in.');
  const configuration = await provider.connect();

  // All tabs of one browser share the browser's token. Each tab has a separate state.
  const browserToken =
    givenToken !== null && browserTokenPattern.test(givenToken)
      ? givenToken
      : randomText(randomBytes);
  const state = randomText(randomBytes);
  const { nonce, verifier } = deriveFlowSecrets({ browserToken, state });
  await insertSignInFlow(db, {
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
