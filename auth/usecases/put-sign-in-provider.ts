import type { PublicSignInProvider, SignInProviderBody } from '#contracts/http/sign-in';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { readAdmin } from '../callers.ts';
import type { Deps } from '../deps.ts';
import { reasonOf } from '../openid.ts';
import { lockOrg } from '../repository/orgs.ts';
import { countOtherProviders, putProvider } from '../repository/sign-in-providers.ts';
import { presentProvider } from '../sign-in/present-provider.ts';
import {
  getProvider,
  providerChanged,
  providersMax,
  refuseFixed,
} from '../sign-in/provider-changes.ts';

interface PutFields {
  readonly principal: string;
  readonly key: string;
  readonly body: SignInProviderBody;
  readonly context: CallContext;
}

/** Sets a provider up, or replaces all of it, once its metadata could be read. */
export async function putSignInProvider(
  deps: Deps,
  { principal, key, body, context }: PutFields,
): Promise<PublicSignInProvider> {
  const caller = readAdmin(deps, principal);
  const { orgId } = caller;
  await refuseFixed(deps, { orgId, key });
  const provider = await deps.providers
    .prepare({ orgId, key }, body, deps.randomBytes)
    .catch((thrown: unknown) => {
      throw notUsable(thrown);
    });
  await deps.db.transaction(async (tx) => {
    await lockOrg(tx, { orgId });
    if ((await countOtherProviders(tx, { orgId, exceptKey: key })) >= providersMax) {
      throw new AppError('conflict', `An org has at most ${providersMax} providers; remove one.`);
    }
    await putProvider(tx, provider);
    const what = `set up the sign-in provider ${key} (${body.issuer})`;
    await appendEvent(tx, providerChanged({ caller, context }, key, what));
  });
  return presentProvider(deps, await getProvider(deps, { orgId, key }));
}

/** For an admin who sets it up, an address that does not answer is a wrong parameter. */
function notUsable(thrown: unknown): unknown {
  const reason = reasonOf(thrown);
  if (reason === undefined || !reason.code.startsWith('upstream_')) return thrown;
  return new AppError(
    'invalid_params',
    `The metadata of this issuer could not be read. ${reason.message}`,
    { details: { issues: [{ path: 'issuer', message: reason.message }] }, cause: thrown },
  );
}
