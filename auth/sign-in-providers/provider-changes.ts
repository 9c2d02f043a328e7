import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { callerNameOf } from '../callers/domain/audit-entry.ts';
import type { ChangeOrigin } from '../callers/domain/change-event.ts';
import { createChangeEvent } from '../callers/domain/change-event.ts';
import type { SignInProvider } from './sign-in-providers.ts';

export const providersMax = 100;

export async function getProvider(
  { providers }: Deps,
  providerKey: { orgId: string; key: string },
): Promise<SignInProvider> {
  const provider = await providers.find(providerKey);
  if (provider === undefined) throw noSuchProviderError();
  return provider;
}

/** Refuses to change a provider that SIGN_IN_PROVIDERS sets. */
export async function refuseEnvironmentProvider(
  { providers }: Deps,
  providerKey: { orgId: string; key: string },
) {
  if ((await providers.find(providerKey))?.source !== 'environment') return;
  throw new AppError('conflict', 'This provider is set in SIGN_IN_PROVIDERS; change it there.');
}

export function providerChangedEvent(change: ChangeOrigin, key: string, description: string) {
  return createChangeEvent('sign_in_provider.changed', change, {
    audience: [],
    data: { key },
    description: `${callerNameOf(change.caller)} ${description}.`,
  });
}

export function noSuchProviderError(): AppError {
  return new AppError('not_found', 'There is no such sign-in provider in your org.');
}
