import { setTimeout as sleep } from 'node:timers/promises';

import * as oauth from 'oauth4webapi';

import { cliClientId } from '#contracts/oauth';

import { parseGatewayUrl } from '../address.ts';
import {
  readCredentialFile,
  settleCredentialPath,
  writeCredentialFile,
} from '../credential/file.ts';
import type { Credential, CredentialFile, OAuthClient } from '../credential/file.ts';
import { withFileLock } from '../credential/lock.ts';
import {
  withoutUserScope,
  authenticationOf,
  createRequestOptions,
  userScope,
  withTokens,
} from '../credential/oauth.ts';
import type { ActsAs } from '../credential/oauth.ts';
import { Refusal, reasonOf } from '../refusal.ts';
import {
  readClientSecretSetting,
  readCredentialFileSetting,
  readGatewayUrlSetting,
} from '../settings.ts';
import type { Environment } from '../settings.ts';
import { openBrowser } from './browser.ts';
import { openCallbackServer } from './callback.ts';
import type { Callback } from './callback.ts';
import { redirectPath, createGivenClient, isStillKnown, registerClient } from './client.ts';
import { discoverAuthorizationServer } from './discover.ts';
import type { AuthorizationServer, DiscoveryResult } from './discover.ts';

/**
 * How long to wait for the person's consent. The gateway keeps an unfinished sign-in for the same
 * time.
 */
const consentTimeoutMs = 10 * 60_000;

export interface LoginOptions {
  readonly url?: string;
  readonly credentialFile?: string;
  readonly scope?: string;
  readonly clientId?: string;
  readonly newClient?: boolean;
  /** False for `--no-browser`. */
  readonly browser?: boolean;
}

/**
 * `action-gateway mcp login`: finds the authorization server, registers a client, asks for consent
 * in the browser, gets the tokens and stores them.
 */
export async function loginAsAgent(options: LoginOptions, environment: Environment): Promise<void> {
  const gateway = parseGatewayUrl(readGatewayUrlSetting(options.url, environment));
  const path = await settleCredentialPath(
    readCredentialFileSetting(options.credentialFile, environment),
  );
  const storedCredential = await readForLogin(path, { gateway, option: '--credential-file' });
  const discovered = await discoverAuthorizationServer(gateway);
  const client = await chooseClient(options, {
    environment,
    stored: storedCredential,
    server: discovered.server,
  });
  // The client is stored before the person consents, so that a second attempt uses the same client.
  const { issuer } = discovered.server;
  await updateCredentialFile(path, (file) => ({
    ...file,
    clients: { ...file.clients, [issuer]: client },
  }));

  const scope = withoutUserScope(options.scope ?? discovered.scope);
  await authorizeAndStore({ gateway, discovered, client, scope, actsAs: 'agent' }, path, options);
}

/**
 * `action-gateway login`: the same for the person at the terminal. It needs no registration,
 * because every gateway has a client for it.
 *
 * @param profilePath The file that keeps the login.
 */
export async function loginAsUser(
  options: Pick<LoginOptions, 'url' | 'browser'>,
  profilePath: string,
  environment: Environment,
): Promise<void> {
  const path = await settleCredentialPath(profilePath);
  const { credential: stored } = await readCredentialFile(path);
  const gateway = parseGatewayUrl(
    readGatewayUrlSetting(options.url, environment) ?? stored?.gateway,
  );
  await readForLogin(path, { gateway, option: '--profile' });
  const discovered = await discoverAuthorizationServer(gateway);
  const client = { client_id: cliClientId, token_endpoint_auth_method: 'none' } as const;
  const request = { gateway, discovered, client, scope: userScope, actsAs: 'user' } as const;
  await authorizeAndStore(request, path, options);
}

/** @throws Refusal if the file contains a login for another gateway. */
async function readForLogin(
  path: string,
  { gateway, option }: { gateway: string; option: string },
): Promise<CredentialFile> {
  const stored = await readCredentialFile(path);
  if (stored.credential && stored.credential.gateway !== gateway) {
    throw new Refusal(
      `${path} is a login at ${stored.credential.gateway}: log out there first, or choose another ${option}.`,
    );
  }
  return stored;
}

async function authorizeAndStore(
  request: AuthorizationRequest,
  path: string,
  { browser = true }: Pick<LoginOptions, 'browser'>,
): Promise<void> {
  const credential = await authorize(request, async (address) => {
    const isOpened = browser && (await openBrowser(address));
    printLine(isOpened ? 'Your browser opens this address:' : 'Open this address in your browser:');
    printLine(`\n  ${address}\n`);
  });
  await updateCredentialFile(path, (file) => ({ ...file, credential }));
  printLine(`Logged in at ${request.gateway}. The login is kept in ${path}.`);
}

async function chooseClient(
  options: LoginOptions,
  context: { environment: Environment; stored: CredentialFile; server: AuthorizationServer },
): Promise<OAuthClient> {
  const { environment, stored, server } = context;
  const id = options.clientId;
  if (id !== undefined) {
    return createGivenClient(server, { id, secret: readClientSecretSetting(environment) });
  }
  const rememberedClient = options.newClient === true ? undefined : stored.clients[server.issuer];
  if (rememberedClient && (await isStillKnown(server, rememberedClient))) return rememberedClient;
  return registerClient(server);
}

interface AuthorizationRequest {
  readonly gateway: string;
  readonly discovered: DiscoveryResult;
  readonly client: OAuthClient;
  readonly scope: string;
  readonly actsAs: ActsAs;
}

/** Runs the authorization code flow with PKCE, until the browser shows the final page. */
async function authorize(
  request: AuthorizationRequest,
  showAddress: (address: string) => Promise<void>,
): Promise<Credential> {
  const { client, scope } = request;
  const { server, resource } = request.discovered;
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  await using callbackServer = await openCallbackServer(redirectPath, state);

  const address = new URL(server.authorization_endpoint);
  const parameters = {
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: callbackServer.redirectUri,
    ...(scope !== '' && { scope }),
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    resource,
  };
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  await showAddress(address.href);

  const callback = await Promise.race([
    callbackServer.firstCallback,
    sleep(consentTimeoutMs, undefined, { ref: false }),
  ]);
  if (!callback) throw new Refusal('Nobody signed in for ten minutes: run the login again.');
  try {
    const { redirectUri } = callbackServer;
    const credential = await exchangeCode(request, { callback, verifier, state, redirectUri });
    callback.showPage('Logged in', 'You can close this page and go back.');
    return credential;
  } catch (error) {
    const refusal = refusalOf(error, server.issuer);
    callback.showPage('Not logged in', refusal.message);
    throw refusal;
  }
}

async function exchangeCode(
  { gateway, discovered: { server, resource }, client, scope, actsAs }: AuthorizationRequest,
  answer: { callback: Callback; verifier: string; state: string; redirectUri: string },
): Promise<Credential> {
  const { callback, verifier, state, redirectUri } = answer;
  const parameters = oauth.validateAuthResponse(server, client, callback.url, state);
  const response = await oauth.authorizationCodeGrantRequest(
    ...([server, client, authenticationOf(client)] as const),
    ...([parameters, redirectUri, verifier] as const),
    { ...createRequestOptions(server.token_endpoint), additionalParameters: { resource } },
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
      // The server may omit the scope when it granted exactly what was requested (RFC 6749 section
      // 5.1).
      ...(scope !== '' && { scope }),
    },
    tokens,
    actsAs,
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
  const isProtocolError = error instanceof oauth.OperationProcessingError;
  const problem = isProtocolError ? error.message : reasonOf(error);
  return new Refusal(`The login at ${issuer} failed: ${problem}.`, { cause: error });
}

/**
 * Changes the file under its lock. The file is read again first, because shims may have refreshed
 * the login in the meantime.
 */
async function updateCredentialFile(
  path: string,
  change: (file: CredentialFile) => CredentialFile,
): Promise<void> {
  await withFileLock(path, async () => {
    await writeCredentialFile(path, change(await readCredentialFile(path)));
  });
}

function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}
