import { createHash, randomBytes } from 'node:crypto';

import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { getOpenFlow } from '../connections/flow.ts';
import type { OpenFlow } from '../connections/flow.ts';
import { flowBinding, hashOfState, sessionOf } from '../connections/flow-state.ts';
import type { Deps } from '../deps.ts';
import { beginConnectionFlow as beginStoredFlow } from '../repository/connection-flow.ts';

/** Sends the owner to the provider: with a state that is good in this browser session alone, and PKCE where it is known. */
export async function beginConnectionFlow(
  deps: Deps,
  { principal: signed, id }: { principal: string; id: string; context: CallContext },
): Promise<{ url: string }> {
  const { db, vault, apps } = deps;
  const principal = deps.readPrincipal(signed);
  const sessionId = sessionOf(principal);
  const open = await getOpenFlow(deps, principal, id);
  const { orgId } = open.flow;
  const state = randomText();
  const stateHash = hashOfState(state);
  const verifier = open.app.provider.pkce ? randomText() : null;
  const binding = flowBinding({ orgId, id, stateHash });
  const begun = await beginStoredFlow(db, {
    orgId,
    id,
    sessionId,
    stateHash,
    sealedVerifier: verifier === null ? null : await vault.seal(db, binding, verifier),
    appId: open.app.stored?.id ?? null,
    appVersion: open.app.stored?.version ?? null,
  });
  if (!begun) {
    throw new AppError(
      'expired',
      'This link was used already or is too old; ask for access again.',
    );
  }
  const redirectUri = apps.redirectUriOf(open.flow.provider);
  return { url: authorizationUrl(open, { state, verifier, redirectUri }) };
}

/** RFC 6749 §4.1.1 and RFC 7636 §4.3, with what the provider's row adds. */
function authorizationUrl(
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

function randomText(): string {
  return randomBytes(32).toString('base64url');
}
