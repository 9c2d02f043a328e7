import type { Sql, Transaction } from '#database';
import { hashToken } from '../credentials/domain/checked-token.ts';
import { isDeviceOfAnyUser, isKnownDevice, rememberDevice } from './sign-in-devices.sql.ts';

interface UserKey {
  readonly orgId: string;
  readonly identityId: string;
}

const deviceTokenPattern = /^[A-Za-z0-9_-]{43}$/;

/**
 * The hash of the browser's cookie if this user has signed in with that browser before; otherwise
 * null.
 */
export async function findDeviceHash(
  sql: Sql,
  deviceToken: string | null,
  { orgId, identityId }: UserKey,
): Promise<Buffer | null> {
  if (deviceToken === null || !deviceTokenPattern.test(deviceToken)) return null;
  const hash = hashToken(deviceToken);
  return (await isKnownDevice(sql, { hash, orgId, identityId })) ? hash : null;
}

/**
 * Remembers the browser in which a user has just signed in, and returns its cookie. Several users
 * of one browser share the cookie. A cookie that the gateway did not set is replaced by a new
 * cookie.
 */
export async function rememberBrowser(
  tx: Transaction,
  {
    deviceToken,
    user,
    newToken,
  }: {
    deviceToken: string | null;
    user: { readonly orgId: string; readonly id: string };
    newToken: () => Buffer;
  },
): Promise<{ token: string; expiresAt: string }> {
  const isIssuedHere =
    deviceToken !== null &&
    deviceTokenPattern.test(deviceToken) &&
    (await isDeviceOfAnyUser(tx, { hash: hashToken(deviceToken) }));
  const token = isIssuedHere ? deviceToken : newToken().toString('base64url');
  const { expiresAt } = await rememberDevice(tx, {
    hash: hashToken(token),
    orgId: user.orgId,
    identityId: user.id,
  });
  return { token, expiresAt: expiresAt.toISOString() };
}
