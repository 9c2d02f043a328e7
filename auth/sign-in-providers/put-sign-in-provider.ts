import type { PublicSignInProvider, SignInProviderBody } from '#contracts/http/sign-in';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { readAdmin } from '../callers/read-admin.ts';
import type { Deps } from '../deps.ts';
import { findAppErrorIn } from './openid.ts';
import { lockOrg } from '../orgs/orgs.sql.ts';
import { countOtherProviders, putProvider } from './sign-in-providers.sql.ts';
import { presentProvider } from './present-provider.ts';
import {
  getProvider,
  providerChangedEvent,
  providersMax,
  refuseEnvironmentProvider,
} from './provider-changes.ts';

interface PutProviderFields {
  readonly principal: string;
  readonly key: string;
  readonly body: SignInProviderBody;
  readonly context: CallContext;
}

/** Creates or replaces a provider, but only if the provider's metadata can be read. */
export async function putSignInProvider(
  deps: Deps,
  { principal, key, body, context }: PutProviderFields,
): Promise<PublicSignInProvider> {
  const caller = readAdmin(deps, principal);
  const { orgId } = caller;
  await refuseEnvironmentProvider(deps, { orgId, key });
  const provider = await deps.providers
    .prepare({ orgId, key }, body, deps.randomBytes)
    .catch((error: unknown) => {
      throw toIssuerError(error);
    });
  await deps.db.transaction(async (tx) => {
    await lockOrg(tx, { orgId });
    if ((await countOtherProviders(tx, { orgId, exceptKey: key })) >= providersMax) {
      throw new AppError('conflict', `An org has at most ${providersMax} providers; remove one.`);
    }
    await putProvider(tx, provider);
    const description = `set up the sign-in provider ${key} (${body.issuer})`;
    await appendEvent(tx, providerChangedEvent({ caller, context }, key, description));
  });
  return presentProvider(deps, await getProvider(deps, { orgId, key }));
}

/**
 * Reports an issuer that does not respond as a wrong parameter, because the admin can correct the
 * parameter.
 */
function toIssuerError(error: unknown): unknown {
  const reason = findAppErrorIn(error);
  if (reason === undefined || !reason.code.startsWith('upstream_')) return error;
  return new AppError(
    'invalid_params',
    `The metadata of this issuer could not be read. ${reason.message}`,
    { details: { issues: [{ path: 'issuer', message: reason.message }] }, cause: error },
  );
}
