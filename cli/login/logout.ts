import * as oauth from 'oauth4webapi';

import {
  readCredentialFile,
  settleCredentialPath,
  writeCredentialFile,
} from '../credential/file.ts';
import type { Credential } from '../credential/file.ts';
import { withFileLock } from '../credential/lock.ts';
import { authenticationOf, createRequestOptions } from '../credential/oauth.ts';
import { exitCodes } from '../exit-codes.ts';
import { Refusal, reasonOf } from '../refusal.ts';

/**
 * `action-gateway logout` and `mcp logout`: revokes the login at the gateway, then deletes it from
 * this machine.
 *
 * @param file The file in which the login is stored.
 */
export async function logout(file: string): Promise<void> {
  const path = await settleCredentialPath(file);
  await withFileLock(path, async () => {
    const { credential, ...others } = await readCredentialFile(path);
    if (!credential) {
      throw new Refusal('There is no login.', { exitCode: exitCodes.notSignedIn });
    }
    // The tokens are deleted from this machine even if revoking fails; in that case they expire by
    // themselves.
    const problem = await revoke(credential);
    await writeCredentialFile(path, others);
    process.stdout.write(`Logged out of ${credential.gateway}.\n`);
    if (problem === undefined) return;
    throw new Refusal(
      `The gateway could not be told (${problem}): there the login ends by itself, within 30 days.`,
    );
  });
}

/** Revokes the tokens. Returns undefined on success, otherwise the reason why it failed. */
async function revoke(credential: Credential): Promise<string | undefined> {
  const { issuer, client, revocation_endpoint, refresh_token, access_token } = credential;
  if (revocation_endpoint === undefined) return 'it has no address for that';
  try {
    const answer = await oauth.revocationRequest(
      ...([{ issuer, revocation_endpoint }, client, authenticationOf(client)] as const),
      refresh_token ?? access_token,
      createRequestOptions(revocation_endpoint),
    );
    await oauth.processRevocationResponse(answer);
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}
