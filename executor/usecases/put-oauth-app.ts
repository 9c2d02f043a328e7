import { v7 as uuidv7 } from 'uuid';

import type { Deadline } from '#bus';
import type { OauthApp, OauthAppBody } from '#contracts/http/oauth-apps';
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
  deadline: Deadline,
): Promise<OauthApp> {
  const { db, vault, apps } = deps;
  const principal = requireAdmin(deps.readPrincipal(signed));
  const { orgId } = principal;
  const own = await readDefinition({ ...deps, deadline }, key, body);
  const definition = own?.provider ?? null;
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
  const { clientId, clientSecret } = own?.client ?? clientOf(body);
  if (provider.client_authentication !== 'none' && clientSecret === undefined) {
    const message = `is required: ${provider.title} gives one with the client id`;
    throw refused([{ path: 'client_secret', message }]);
  }

  const stored = await db.transaction(async (tx) => {
    const fields = { orgId, provider: key, clientId, variables, definition };
    const app = await upsertOauthApp(tx, { id: uuidv7(), ...fields, createdBy: principal.userId });
    const defined = (await listOauthApps(tx, { orgId })).filter((app) => app.definition !== null);
    if (defined.length > ownProvidersMax) {
      throw new AppError('conflict', `An org has at most ${ownProvidersMax} providers of its own.`);
    }
    const sealed =
      clientSecret === undefined ? null : await vault.seal(tx, appBinding(app), clientSecret);
    if (sealed !== null) await setOauthAppSecret(tx, { orgId, id: app.id, sealed });
    const text = `Set up the app of the provider ${key} (${new URL(provider.token_url).host})`;
    await appendEvent(tx, appChanged({ provider: key, text, by: { principal, context } }));
    return { ...app, sealedSecret: sealed };
  });
  return presentApp(apps, { provider, stored });
}

/** A built-in provider keeps its addresses: templates rely on them by its name. */
async function readDefinition(
  deps: Deps & { deadline: Deadline },
  key: string,
  body: OauthAppBody,
): Promise<Awaited<ReturnType<typeof defineOwnProvider>> | null> {
  const { definition } = body;
  if (definition === undefined) return null;
  if (builtInProviders().has(key)) {
    throw new AppError(
      'conflict',
      `The provider "${key}" is built in, and its addresses stay as they are; give your own provider another name.`,
    );
  }
  const client = body.client_id === undefined ? undefined : clientOf(body);
  const redirectUri = deps.apps.redirectUriOf(key);
  return defineOwnProvider(deps, { key, definition, client, redirectUri });
}

function clientOf({ client_id: clientId = '', client_secret: clientSecret }: OauthAppBody) {
  return { clientId, clientSecret };
}

function refused(issues: { path: string; message: string }[]): AppError {
  const [first] = issues;
  return new AppError('invalid_params', `${first?.path ?? ''} ${first?.message ?? ''}.`, {
    details: { issues },
  });
}
