import * as oauth from 'oauth4webapi';

import { parseGatewayUrl } from '../address.ts';
import { Refusal, reasonOf } from '../refusal.ts';
import { readCredentialFile, settleCredentialPath, writeCredentialFile } from './file.ts';
import type { Credential } from './file.ts';
import { withFileLock } from './lock.ts';
import { refreshCredential, refuseUserScope } from './oauth.ts';

/** The one credential a shim holds. */
export interface Access {
  /** Base URL: the only address the credential is sent to. */
  readonly gateway: string;
  /** What to tell a person to run when a login would help; undefined if it would not. */
  readonly loginCommand: string | undefined;
  readonly token: () => string;
  /** As granted, if that is known. */
  readonly scope: () => string | undefined;
  /**
   * A token other than the refused one: what somebody else has stored meanwhile, or a refreshed
   * one; undefined if there is none.
   *
   * @throws Refusal if refreshing was tried and failed.
   */
  readonly renew: (refused: string) => Promise<string | undefined>;
  /** Whatever is stored now, if it is not the refused one: a person may have logged in again. */
  readonly reread: (refused: string) => Promise<string | undefined>;
}

export function accessWithKey(key: string, gateway: string | undefined): Access {
  const none = () => Promise.resolve(undefined);
  return {
    gateway: parseGatewayUrl(gateway),
    loginCommand: undefined,
    token: () => key,
    scope: () => undefined,
    renew: none,
    reread: none,
  };
}

/**
 * A login kept in a file that several shims share.
 *
 * @throws Refusal if there is none, it is another gateway's, or it acts as the user.
 */
export async function accessWithLogin(
  file: string,
  { gateway, loginCommand }: { gateway: string | undefined; loginCommand: string },
): Promise<Access> {
  const path = await settleCredentialPath(file);
  let held = await load(path, loginCommand);
  if (gateway !== undefined && held.gateway !== parseGatewayUrl(gateway)) {
    throw new Refusal(
      `${path} is a login at ${held.gateway}: for another gateway use another --credential-file.`,
    );
  }
  const origin = held.gateway;
  let renewing: Promise<string | undefined> | undefined;
  /** Presenting it again could only revoke what came after it. */
  let deadRefreshToken: string | undefined;

  const reread = async (refused: string) => {
    const stored = await load(path, loginCommand);
    if (stored.gateway !== origin || stored.access_token === refused) return undefined;
    held = stored;
    return held.access_token;
  };
  const renewLocked = async (refused: string) => {
    const stored = await reread(refused);
    if (stored !== undefined) return stored;
    const refreshToken = held.refresh_token;
    if (refreshToken === undefined || refreshToken === deadRefreshToken) return undefined;
    try {
      // Held before it is stored: should that fail, this process at least has what there is.
      held = await refreshCredential(held, refreshToken);
      await store(path, held);
    } catch (error) {
      if (hasEnded(error)) deadRefreshToken = refreshToken;
      throw refusalOf(error, loginCommand);
    }
    return held.access_token;
  };

  return {
    gateway: origin,
    loginCommand,
    token: () => held.access_token,
    scope: () => held.scope,
    reread,
    renew: (refused) => {
      if (held.access_token !== refused) return Promise.resolve(held.access_token);
      renewing ??= withFileLock(path, () => renewLocked(refused)).finally(() => {
        renewing = undefined;
      });
      return renewing;
    },
  };
}

async function load(path: string, loginCommand: string): Promise<Credential> {
  const { credential } = await readCredentialFile(path);
  if (!credential) throw new Refusal(`There is no login yet: run "${loginCommand}".`);
  refuseUserScope(credential);
  return credential;
}

async function store(path: string, credential: Credential): Promise<void> {
  await writeCredentialFile(path, { ...(await readCredentialFile(path)), credential });
}

/** As opposed to a refusal that may pass, such as one for too many requests. */
function hasEnded(error: unknown): error is oauth.ResponseBodyError {
  const final = ['invalid_grant', 'invalid_client', 'unauthorized_client'];
  return error instanceof oauth.ResponseBodyError && final.includes(error.error);
}

function refusalOf(error: unknown, loginCommand: string): Refusal {
  if (error instanceof Refusal) return error;
  return hasEnded(error)
    ? new Refusal(`The login has ended (${error.error}): run "${loginCommand}".`, { cause: error })
    : new Refusal(`The login could not be refreshed (${reasonOf(error)}).`, { cause: error });
}
