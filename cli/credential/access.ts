import * as oauth from 'oauth4webapi';

import { parseGatewayUrl } from '../address.ts';
import { exitCodes } from '../exit-codes.ts';
import { Refusal, reasonOf } from '../refusal.ts';
import { readCredentialFile, settleCredentialPath, writeCredentialFile } from './file.ts';
import type { Credential } from './file.ts';
import { withFileLock } from './lock.ts';
import { refreshCredential, refuseUserScope } from './oauth.ts';
import type { ActsAs } from './oauth.ts';

/** The credential that a command uses. A command uses only one. */
export interface Access {
  /** The gateway's base URL, which is the only address that the credential is sent to. */
  readonly gateway: string;
  /** The command with which a person can log in again. Undefined if logging in would not help. */
  readonly loginCommand: string | undefined;
  readonly token: () => string;
  /** The granted scope, if known. */
  readonly scope: () => string | undefined;
  /**
   * Returns a token that differs from the refused one: either a token that another process has
   * stored in the meantime, or a refreshed token. Undefined if there is no such token.
   *
   * @throws Refusal if refreshing was tried and failed.
   */
  readonly renewToken: (refused: string) => Promise<string | undefined>;
  /**
   * Returns the stored token if it differs from the refused one, which happens after a person has
   * logged in again.
   */
  readonly rereadToken: (refused: string) => Promise<string | undefined>;
}

interface LoginRules {
  /** The command that a person runs to log in. */
  readonly loginCommand: string;
  readonly actsAs: ActsAs;
}

export function accessWithKey(key: string, gateway: string | undefined): Access {
  const findNoToken = () => Promise.resolve(undefined);
  return {
    gateway: parseGatewayUrl(gateway),
    loginCommand: undefined,
    token: () => key,
    scope: () => undefined,
    renewToken: findNoToken,
    rereadToken: findNoToken,
  };
}

/**
 * Creates access from a login that is stored in a file. Several processes may share the file.
 *
 * @throws Refusal if the file contains no login, if its login is for another gateway, or if its
 * login acts as the user although the login is for an agent.
 */
export async function accessWithLogin(
  file: string,
  { gateway, ...loginRules }: { gateway: string | undefined } & LoginRules,
): Promise<Access> {
  const path = await settleCredentialPath(file);
  const { loginCommand, actsAs } = loginRules;
  let credential = await loadCredential(path, loginRules);
  if (gateway !== undefined && credential.gateway !== parseGatewayUrl(gateway)) {
    throw new Refusal(
      `${path} is a login at ${credential.gateway}: for another gateway use another ${actsAs === 'user' ? '--profile' : '--credential-file'}.`,
    );
  }
  const origin = credential.gateway;
  let pendingRenewal: Promise<string | undefined> | undefined;
  /**
   * A refresh token that the server has already refused. Presenting it again could only make the
   * server revoke the tokens that replaced it.
   */
  let deadRefreshToken: string | undefined;

  const rereadIfChanged = async (refusedToken: string) => {
    const storedCredential = await loadCredential(path, loginRules);
    if (storedCredential.gateway !== origin || storedCredential.access_token === refusedToken)
      return undefined;
    credential = storedCredential;
    return credential.access_token;
  };
  const renewUnderLock = async (refusedToken: string) => {
    const storedCredential = await rereadIfChanged(refusedToken);
    if (storedCredential !== undefined) return storedCredential;
    const refreshToken = credential.refresh_token;
    if (refreshToken === undefined || refreshToken === deadRefreshToken) return undefined;
    try {
      // Fails on a full disk before the refresh token is used, because it can be used only once.
      await storeCredential(path, credential);
      // The new tokens are kept in memory first, so that this process can use them even if storing
      // them fails.
      credential = await refreshCredential(credential, refreshToken, actsAs);
      await storeCredential(path, credential);
    } catch (error) {
      if (hasLoginEnded(error)) deadRefreshToken = refreshToken;
      throw refusalOf(error, loginCommand);
    }
    return credential.access_token;
  };

  return {
    gateway: origin,
    loginCommand,
    token: () => credential.access_token,
    scope: () => credential.scope,
    rereadToken: rereadIfChanged,
    renewToken: (refusedToken) => {
      if (credential.access_token !== refusedToken) return Promise.resolve(credential.access_token);
      pendingRenewal ??= withFileLock(path, () => renewUnderLock(refusedToken)).finally(() => {
        pendingRenewal = undefined;
      });
      return pendingRenewal;
    },
  };
}

async function loadCredential(
  path: string,
  { loginCommand, actsAs }: LoginRules,
): Promise<Credential> {
  const { credential } = await readCredentialFile(path);
  if (!credential) {
    throw new Refusal(`There is no login yet: run "${loginCommand}".`, {
      exitCode: exitCodes.notSignedIn,
    });
  }
  refuseUserScope(credential, actsAs);
  return credential;
}

async function storeCredential(path: string, credential: Credential): Promise<void> {
  const file = await readCredentialFile(path);
  try {
    await writeCredentialFile(path, { ...file, credential });
  } catch (error) {
    throw new Refusal(`${path} cannot be written (${reasonOf(error)}): the login is not stored.`, {
      cause: error,
    });
  }
}

/**
 * Whether the login has ended for good. A temporary refusal, such as one for too many requests,
 * does not end it.
 */
function hasLoginEnded(error: unknown): error is oauth.ResponseBodyError {
  const finalErrorCodes = ['invalid_grant', 'invalid_client', 'unauthorized_client'];
  return error instanceof oauth.ResponseBodyError && finalErrorCodes.includes(error.error);
}

function refusalOf(error: unknown, loginCommand: string): Refusal {
  if (error instanceof Refusal) return error;
  return hasLoginEnded(error)
    ? new Refusal(`The login has ended (${error.error}): run "${loginCommand}".`, {
        cause: error,
        exitCode: exitCodes.notSignedIn,
      })
    : new Refusal(`The login could not be refreshed (${reasonOf(error)}).`, { cause: error });
}
