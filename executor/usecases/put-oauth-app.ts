import { v7 as uuidv7 } from 'uuid';

import type { OauthApp, OauthAppBody } from '#contracts/http/oauth-apps';
import type { OauthProvider } from '#contracts/oauth-provider';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { builtInProviders, readVariables } from '#providers';
import { appChanged, requireAdmin } from '../connections/app-changes.ts';
import { defineOwnProvider } from '../connections/own-provider.ts';
import { presentApp } from '../connections/present-app.ts';
import { appBinding } from '../connections/provider-apps.ts';
import type { Deps } from '../deps.ts';
import { listOauthApps, setOauthAppSecret, upsertOauthApp } from '../repository/oauth-app.ts';

const ownProvidersMax = 100;

/** Sets an app up, or replaces all of it: the secret too, which is never carried over to other addresses. */
export async function putOauthApp(
  deps: Deps,
  {
    principal: signed,
    provider: key,
    body,
    context,
  }: { principal: string; provider: string; body: OauthAppBody; context: CallContext },
): Promise<OauthApp> {
  const { db, vault, apps } = deps;
  const principal = requireAdmin(deps.verifyPrincipal(signed));
  const { orgId } = principal;
  const definition = await readDefinition(deps, key, body);
  const provider = definition ?? builtInProviders().get(key);
  if (provider === undefined) {
    const message = 'is required: there is no built-in provider of this name';
    throw refused([{ path: 'definition', message }]);
  }
  const variables = body.variables ?? {};
  const read = readVariables(provider, variables);
  if ('problems' in read) {
    throw refused(
      read.problems.map(({ variable, message }) => ({ path: `variables.${variable}`, message })),
    );
  }
  if (provider.client_authentication !== 'none' && body.client_secret === undefined) {
    const message = `is required: ${provider.title} gives one with the client id`;
    throw refused([{ path: 'client_secret', message }]);
  }

  const stored = await db.transaction(async (tx) => {
    const fields = { orgId, provider: key, clientId: body.client_id, variables, definition };
    const app = await upsertOauthApp(tx, { id: uuidv7(), ...fields, createdBy: principal.userId });
    const own = (await listOauthApps(tx, { orgId })).filter((each) => each.definition !== null);
    if (own.length > ownProvidersMax) {
      throw new AppError('conflict', `An org has at most ${ownProvidersMax} providers of its own.`);
    }
    const sealed =
      body.client_secret === undefined
        ? null
        : await vault.seal(tx, appBinding(app), body.client_secret);
    if (sealed !== null) await setOauthAppSecret(tx, { orgId, id: app.id, sealed });
    const text = `Set up the app of the provider ${key} (${new URL(provider.token_url).host})`;
    await appendEvent(tx, appChanged({ provider: key, text, by: { principal, context } }));
    return { ...app, sealedSecret: sealed };
  });
  return presentApp(apps, { provider, stored });
}

/** A built-in provider keeps its addresses: templates rely on them by its name. */
async function readDefinition(
  deps: Deps,
  key: string,
  { definition, client_secret: secret }: OauthAppBody,
): Promise<OauthProvider | null> {
  if (definition === undefined) return null;
  if (builtInProviders().has(key)) {
    throw new AppError(
      'conflict',
      `The provider "${key}" is built in, and its addresses stay as they are; give your own provider another name.`,
    );
  }
  return defineOwnProvider(deps, { key, definition, hasSecret: secret !== undefined });
}

function refused(issues: { path: string; message: string }[]): AppError {
  const [first] = issues;
  return new AppError('invalid_params', `${first?.path ?? ''} ${first?.message ?? ''}.`, {
    details: { issues },
  });
}
