import { createHash, randomBytes } from 'node:crypto';

import type { CallContext } from '#contracts/vocabulary';
import { getOpenFlow, linkEndedError } from './get-open-flow.ts';
import type { OpenFlow } from './get-open-flow.ts';
import { flowSealContextOf, hashOfState, sessionIdOf } from './flow-state.ts';
import type { Deps } from '../deps.ts';
import { beginConnectionFlow as beginStoredFlow } from './connection-flow.sql.ts';

/**
 * Sends the owner to the provider, with a `state` that is valid only in this browser session, and
 * with PKCE if the provider supports it.
 */
export async function beginConnectionFlow(
  deps: Deps,
  { principal: signed, id }: { principal: string; id: string; context: CallContext },
): Promise<{ url: string }> {
  const { db, vault, apps } = deps;
  const principal = deps.readPrincipal(signed);
  const sessionId = sessionIdOf(principal);
  const openFlow = await getOpenFlow(deps, principal, id);
  const { orgId } = openFlow.flow;
  const state = createRandomText();
  const stateHash = hashOfState(state);
  const verifier = openFlow.app.provider.pkce ? createRandomText() : null;
  const sealContext = flowSealContextOf({ orgId, id, stateHash });
  const storedFlow = await beginStoredFlow(db, {
    orgId,
    id,
    sessionId,
    stateHash,
    sealedVerifier: verifier === null ? null : await vault.seal(db, sealContext, verifier),
    appId: openFlow.app.stored?.id ?? null,
    appVersion: openFlow.app.stored?.version ?? null,
  });
  if (!storedFlow) throw linkEndedError(openFlow.flow, openFlow.connection);
  const redirectUri = apps.redirectUriOf(openFlow.flow.provider);
  return { url: authorizationUrlOf(openFlow, { state, verifier, redirectUri }) };
}

/**
 * The authorization URL of RFC 6749 §4.1.1 and RFC 7636 §4.3, with the additional parameters that
 * the provider's definition names.
 */
function authorizationUrlOf(
  { app, scopes }: OpenFlow,
  { state, verifier, redirectUri }: { state: string; verifier: string | null; redirectUri: string },
): string {
  const { provider, clientId } = app;
  const url = new URL(provider.authorization_url);
  const parameters: Record<string, string> = {
    ...provider.authorize_parameters,
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    ...(scopes.length === 0
      ? {}
      : { [provider.scope_parameter]: scopes.join(provider.scope_separator) }),
    ...(verifier === null
      ? {}
      : {
          code_challenge: createHash('sha256').update(verifier).digest('base64url'),
          code_challenge_method: 'S256',
        }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

function createRandomText(): string {
  return randomBytes(32).toString('base64url');
}
