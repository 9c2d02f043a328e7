import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { nameOf } from '../domain/audit-entry.ts';
import type { Change } from '../domain/identity-events.ts';
import { accountChanged } from '../domain/sign-in-events.ts';
import type { SignInProvider } from '../sign-in-providers.ts';

export const providersMax = 100;

export async function getProvider(
  { providers }: Deps,
  at: { orgId: string; key: string },
): Promise<SignInProvider> {
  const found = await providers.find(at);
  if (found === undefined) throw noSuchProvider();
  return found;
}

/** Those of the environment are changed there. */
export async function refuseFixed({ providers }: Deps, at: { orgId: string; key: string }) {
  if ((await providers.find(at))?.source !== 'environment') return;
  throw new AppError('conflict', 'This provider is set in SIGN_IN_PROVIDERS; change it there.');
}

export function providerChanged(change: Change, key: string, what: string) {
  return accountChanged('sign_in_provider.changed', change, {
    audience: [],
    data: { key },
    description: `${nameOf(change.caller)} ${what}.`,
  });
}

export function noSuchProvider(): AppError {
  return new AppError('not_found', 'There is no such sign-in provider in your org.');
}
