import { v7 as uuidv7 } from 'uuid';

import type { Deadline } from '#bus';
import type { OauthApp, OauthAppBody } from '#contracts/http/oauth-apps';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { builtInProviders, fillProvider, readVariables } from '#providers';
import { listWarnings } from './check-reachable.ts';
import { createOauthAppEvent, requireAdmin } from './oauth-app-event.ts';
import { defineOwnProvider } from './own-provider.ts';
import { presentOauthApp } from './present-oauth-app.ts';
import { oauthAppSealContextOf } from './provider-apps.ts';
import type { Deps } from '../deps.ts';
import { listOauthApps, setOauthAppSecret, upsertOauthApp } from './oauth-app.sql.ts';

const ownProvidersMax = 100;

/**
 * Sets up a provider app, or replaces it as a whole. The old client secret is not kept: otherwise a
 * changed address would receive a secret that was meant for the old address.
 */
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
  const ownDefinition = await readDefinition({ ...deps, deadline }, key, body);
  const definition = ownDefinition?.provider ?? null;
  const provider = definition ?? builtInProviders().get(key);
  if (provider === undefined) {
    const message = 'is required: there is no built-in provider of this name';
    throw invalidDefinition([{ path: 'definition', message }]);
  }
  const variables = body.variables ?? {};
  const readResult = readVariables(provider, variables);
  if ('problems' in readResult) {
    throw invalidDefinition(
      readResult.problems.map(({ variable, message }) => ({
        path: `variables.${variable}`,
        message,
      })),
    );
  }
  const { clientId, clientSecret } = ownDefinition?.client ?? clientOf(body);
  if (provider.client_authentication !== 'none' && clientSecret === undefined) {
    const message = `is required: ${provider.title} gives one with the client id`;
    throw invalidDefinition([{ path: 'client_secret', message }]);
  }

  const storedApp = await db.transaction(async (tx) => {
    const fields = { orgId, provider: key, clientId, variables, definition };
    const app = await upsertOauthApp(tx, { id: uuidv7(), ...fields, createdBy: principal.userId });
    const ownProviders = (await listOauthApps(tx, { orgId })).filter(
      (app) => app.definition !== null,
    );
    if (ownProviders.length > ownProvidersMax) {
      throw new AppError('conflict', `An org has at most ${ownProvidersMax} providers of its own.`);
    }
    const sealedSecret =
      clientSecret === undefined
        ? null
        : await vault.seal(tx, oauthAppSealContextOf(app), clientSecret);
    if (sealedSecret !== null)
      await setOauthAppSecret(tx, { orgId, id: app.id, sealed: sealedSecret });
    const text = `Set up the app of the provider ${key} (${new URL(provider.token_url).host})`;
    await appendEvent(tx, createOauthAppEvent({ provider: key, text, by: { principal, context } }));
    return { ...app, sealedSecret: sealedSecret };
  });
  const app = presentOauthApp(apps, { provider, stored: storedApp });
  // Only addresses that an admin filled in can contain typing errors; all others are known to work.
  if (Object.keys(variables).length === 0) return app;
  const filledProvider = fillProvider(provider, { values: readResult.values, clientId });
  const warnings = await listWarnings({ egress: deps.egress, deadline }, filledProvider);
  return warnings.length === 0 ? app : { ...app, warnings };
}

/**
 * A built-in provider keeps its addresses, because templates refer to it by name and rely on them.
 */
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

function invalidDefinition(issues: { path: string; message: string }[]): AppError {
  const [first] = issues;
  return new AppError('invalid_params', `${first?.path ?? ''} ${first?.message ?? ''}.`, {
    details: { issues },
  });
}
