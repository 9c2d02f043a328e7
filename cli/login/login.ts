import { setTimeout as sleep } from 'node:timers/promises';

import * as oauth from 'oauth4webapi';

import { parseGatewayUrl } from '../address.ts';
import {
  readCredentialFile,
  settleCredentialPath,
  writeCredentialFile,
} from '../credential/file.ts';
import type { Credential, CredentialFile, OAuthClient } from '../credential/file.ts';
import { withFileLock } from '../credential/lock.ts';
import { agentScopes, authenticationOf, requestOptions, withTokens } from '../credential/oauth.ts';
import { Refusal, reasonOf } from '../refusal.ts';
import { clientSecretSetting, credentialFileSetting, gatewayUrlSetting } from '../settings.ts';
import type { Environment } from '../settings.ts';
import { openBrowser } from './browser.ts';
import { openCallbackServer } from './callback.ts';
import type { Callback } from './callback.ts';
import { redirectPath, givenClient, isStillKnown, registerClient } from './client.ts';
import { discover } from './discover.ts';
import type { AuthorizationServer, Discovered } from './discover.ts';

/** As long as the gateway keeps a sign-in that somebody has begun. */
const patienceMs = 10 * 60_000;

export interface LoginOptions {
  readonly url?: string;
  readonly 'credential-file'?: string;
  readonly scope?: string;
  readonly 'client-id'?: string;
  readonly 'new-client'?: boolean;
  readonly 'no-browser'?: boolean;
}

/** `action-gateway mcp login`: discovery, registration, consent in the browser, tokens, stored. */
export async function login(options: LoginOptions, environment: Environment): Promise<void> {
  const gateway = parseGatewayUrl(gatewayUrlSetting(options.url, environment));
  const path = await settleCredentialPath(
    credentialFileSetting(options['credential-file'], environment),
  );
  const stored = await readCredentialFile(path);
  if (stored.credential && stored.credential.gateway !== gateway) {
    throw new Refusal(
      `${path} is a login at ${stored.credential.gateway}: log out there first, or choose another --credential-file.`,
    );
  }
  const discovered = await discover(gateway);
  const client = await chooseClient(options, { environment, stored, server: discovered.server });
  // Kept before anybody consents, so that a second attempt is the same client.
  const { issuer } = discovered.server;
  await update(path, (file) => ({ ...file, clients: { ...file.clients, [issuer]: client } }));

  const scope = agentScopes(options.scope ?? discovered.scope);
  const credential = await authorize({ gateway, discovered, client, scope }, async (address) => {
    const isOpened = options['no-browser'] !== true && (await openBrowser(address));
    say(isOpened ? 'Your browser opens this address:' : 'Open this address in your browser:');
    say(`\n  ${address}\n`);
  });
  await update(path, (file) => ({ ...file, credential }));
  say(`Logged in at ${gateway}. The login is kept in ${path}.`);
}

async function chooseClient(
  options: LoginOptions,
  known: { environment: Environment; stored: CredentialFile; server: AuthorizationServer },
): Promise<OAuthClient> {
  const { environment, stored, server } = known;
  const id = options['client-id'];
  if (id !== undefined) {
    return givenClient(server, { id, secret: clientSecretSetting(environment) });
  }
  const remembered = options['new-client'] === true ? undefined : stored.clients[server.issuer];
  if (remembered && (await isStillKnown(server, remembered))) return remembered;
  return registerClient(server);
}

interface Request {
  readonly gateway: string;
  readonly discovered: Discovered;
  readonly client: OAuthClient;
  readonly scope: string;
}

/** Authorization code with PKCE, and the page that ends it in the browser. */
async function authorize(
  request: Request,
  present: (address: string) => Promise<void>,
): Promise<Credential> {
  const { client, scope } = request;
  const { server, resource } = request.discovered;
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  await using callbacks = await openCallbackServer(redirectPath, state);

  const address = new URL(server.authorization_endpoint);
  const parameters = {
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: callbacks.redirectUri,
    ...(scope !== '' && { scope }),
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    resource,
  };
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  await present(address.href);

  const callback = await Promise.race([
    callbacks.answer,
    sleep(patienceMs, undefined, { ref: false }),
  ]);
  if (!callback) throw new Refusal('Nobody signed in for ten minutes: run the login again.');
  try {
    const { redirectUri } = callbacks;
    const credential = await exchangeCode(request, { callback, verifier, state, redirectUri });
    callback.show('Logged in', 'You can close this page and go back to your editor.');
    return credential;
  } catch (error) {
    const refusal = refusalOf(error, server.issuer);
    callback.show('Not logged in', refusal.message);
    throw refusal;
  }
}

async function exchangeCode(
  { gateway, discovered: { server, resource }, client, scope }: Request,
  answer: { callback: Callback; verifier: string; state: string; redirectUri: string },
): Promise<Credential> {
  const { callback, verifier, state, redirectUri } = answer;
  const parameters = oauth.validateAuthResponse(server, client, callback.url, state);
  const response = await oauth.authorizationCodeGrantRequest(
    ...([server, client, authenticationOf(client)] as const),
    ...([parameters, redirectUri, verifier] as const),
    { ...requestOptions(server.token_endpoint), additionalParameters: { resource } },
  );
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, response);
  return withTokens(
    {
      gateway,
      resource,
      issuer: server.issuer,
      token_endpoint: server.token_endpoint,
      ...(server.revocation_endpoint !== undefined && {
        revocation_endpoint: server.revocation_endpoint,
      }),
      client,
      // What is granted need not be said if it is what was asked for (RFC 6749 section 5.1).
      ...(scope !== '' && { scope }),
    },
    tokens,
  );
}

function refusalOf(error: unknown, issuer: string): Refusal {
  if (error instanceof Refusal) return error;
  if (
    error instanceof oauth.AuthorizationResponseError ||
    error instanceof oauth.ResponseBodyError
  ) {
    const reason =
      error.error === 'access_denied'
        ? 'it was not allowed'
        : `${error.error_description ?? 'the gateway refused it'} (${error.error})`;
    return new Refusal(`The login did not happen: ${reason}.`, { cause: error });
  }
  const isProtocol = error instanceof oauth.OperationProcessingError;
  const problem = isProtocol ? error.message : reasonOf(error);
  return new Refusal(`The login at ${issuer} failed: ${problem}.`, { cause: error });
}

/** Under the lock, from what is stored by then: shims may have refreshed meanwhile. */
async function update(
  path: string,
  change: (file: CredentialFile) => CredentialFile,
): Promise<void> {
  await withFileLock(path, async () => {
    await writeCredentialFile(path, change(await readCredentialFile(path)));
  });
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
