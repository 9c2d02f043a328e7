import type { ErrorCode } from '#contracts/errors';
import { AppError } from '#errors';
import type { SealingPurpose } from './domain/sealing.ts';

/** The error for each purpose of a ciphertext. It says how the problem can be solved. */
const errorsByPurpose: Readonly<
  Record<Exclude<SealingPurpose, 'key_check'>, readonly [ErrorCode, string]>
> = {
  secret: [
    'credential_missing',
    'The stored value of this secret cannot be opened; store it again, or have the operator restore the database.',
  ],
  connection_tokens: [
    'reauth_required',
    'The stored tokens of this connection cannot be opened; its owner has to connect again, or the operator to restore the database.',
  ],
  connection_flow: [
    'expired',
    'What was begun here cannot be finished any more; ask for access again.',
  ],
  oauth_app: [
    'conflict',
    'The stored client secret of this provider cannot be opened; an admin has to set the provider up again.',
  ],
  frozen_call: [
    'approval_stale',
    'The approved call cannot be opened any more; nothing was sent. Ask for approval again.',
  ],
  // Without its data key, nothing of the org can be decrypted, and nothing can be stored for the
  // org.
  data_key: [
    'unavailable',
    'The vault key of this org cannot be opened, so nothing was sent or stored; the operator has to give the right MASTER_KEY or restore the database.',
  ],
};

/**
 * The error for a ciphertext that was moved, changed, or sealed with another key
 * (docs/reference/credentials.md#the-vault). The caller must leave the ciphertext stored, because
 * the operator may be able to repair it.
 */
export function unreadableError(purpose: keyof typeof errorsByPurpose, cause: unknown): AppError {
  const [code, message] = errorsByPurpose[purpose];
  return new AppError(code, message, { cause });
}
