import type { PublicSignInProvider, SignInProviderBody } from '#contracts/http/sign-in';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { nameOf } from '../domain/audit-entry.ts';
import type { Change } from '../domain/identity-events.ts';
import { accountChanged } from '../domain/sign-in-events.ts';
import { reasonOf } from '../openid.ts';
import { lockOrg } from '../repository/orgs.ts';
import {
  countOtherProviders,
  deleteProvider,
  putProvider,
} from '../repository/sign-in-providers.ts';
import type { SignInProvider } from '../sign-in-providers.ts';
import { readAdmin, readReader } from './org.ts';

interface OneProvider {
  readonly principal: string;
  readonly key: string;
}

const providersMax = 100;

export async function listSignInProviders(
  deps: Deps,
  { principal }: { principal: string },
): Promise<{ items: PublicSignInProvider[] }> {
  const { orgId } = readReader(deps, principal);
  const found = await deps.providers.list(orgId);
  return { items: found.slice(0, providersMax).map((each) => present(deps, each)) };
}

export async function getSignInProvider(
  deps: Deps,
  { principal, key }: OneProvider,
): Promise<PublicSignInProvider> {
  const { orgId } = readReader(deps, principal);
  return present(deps, await getProvider(deps, { orgId, key }));
}

/** Sets a provider up, or replaces all of it, once its metadata could be read. */
export async function putSignInProvider(
  deps: Deps,
  {
    principal,
    key,
    body,
    context,
  }: OneProvider & { body: SignInProviderBody; context: CallContext },
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
  return present(deps, await getProvider(deps, { orgId, key }));
}

export async function deleteSignInProvider(
  deps: Deps,
  { principal, key, context }: OneProvider & { context: CallContext },
): Promise<Record<string, never>> {
  const caller = readAdmin(deps, principal);
  const { orgId } = caller;
  await refuseFixed(deps, { orgId, key });
  await deps.db.transaction(async (tx) => {
    if (!(await deleteProvider(tx, { orgId, key }))) throw noSuchProvider();
    const what = `removed the sign-in provider ${key}`;
    await appendEvent(tx, providerChanged({ caller, context }, key, what));
  });
  return {};
}

async function getProvider(
  { providers }: Deps,
  at: { orgId: string; key: string },
): Promise<SignInProvider> {
  const found = await providers.find(at);
  if (found === undefined) throw noSuchProvider();
  return found;
}

async function refuseFixed({ providers }: Deps, at: { orgId: string; key: string }) {
  if ((await providers.find(at))?.source !== 'environment') return;
  throw new AppError('conflict', 'This provider is set in SIGN_IN_PROVIDERS; change it there.');
}

function providerChanged(change: Change, key: string, what: string) {
  return accountChanged('sign_in_provider.changed', change, {
    audience: [],
    data: { key },
    description: `${nameOf(change.caller)} ${what}.`,
  });
}

function noSuchProvider(): AppError {
  return new AppError('not_found', 'There is no such sign-in provider in your org.');
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

function present({ providers }: Deps, provider: SignInProvider): PublicSignInProvider {
  return {
    key: provider.key,
    name: provider.name,
    issuer: provider.issuer,
    client_id: provider.clientId,
    scopes: [...provider.scopes],
    allowed_email_domains: [...provider.allowedEmailDomains],
    allowed_groups: [...provider.allowedGroups],
    has_client_secret: provider.hasClientSecret,
    source: provider.source,
    redirect_uri: providers.redirectUriOf(provider.key),
  };
}
