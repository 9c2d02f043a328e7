import type { Sql, Transaction } from '#database';
import { hashOf } from '../domain/checked-token.ts';
import { isDeviceOfAnyone, isKnownDevice, rememberDevice } from '../repository/sign-in-devices.ts';

interface OneUser {
  readonly orgId: string;
  readonly identityId: string;
}

const shape = /^[A-Za-z0-9_-]{43}$/;

/** SHA-256 of the browser's cookie when this user signed in with it before; else null. */
export async function findDevice(
  sql: Sql,
  deviceToken: string | null,
  { orgId, identityId }: OneUser,
): Promise<Buffer | null> {
  if (deviceToken === null || !shape.test(deviceToken)) return null;
  const hash = hashOf(deviceToken);
  return (await isKnownDevice(sql, { hash, orgId, identityId })) ? hash : null;
}

/**
 * Remembers the browser in which a user has just signed in, and returns its cookie: the one it
 * has, when that was made here, so that several users of one browser share it; else a new one.
 */
export async function keepDevice(
  tx: Transaction,
  {
    deviceToken,
    user,
    fresh,
  }: {
    deviceToken: string | null;
    user: { readonly orgId: string; readonly id: string };
    fresh: () => Buffer;
  },
): Promise<{ token: string; expiresAt: string }> {
  const isOurs =
    deviceToken !== null &&
    shape.test(deviceToken) &&
    (await isDeviceOfAnyone(tx, { hash: hashOf(deviceToken) }));
  const token = isOurs ? deviceToken : fresh().toString('base64url');
  const { expiresAt } = await rememberDevice(tx, {
    hash: hashOf(token),
    orgId: user.orgId,
    identityId: user.id,
  });
  return { token, expiresAt: expiresAt.toISOString() };
}
