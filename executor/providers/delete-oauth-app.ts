import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { createOauthAppEvent, requireAdmin } from './oauth-app-event.ts';
import type { Deps } from '../deps.ts';
import { deleteOauthApp as deleteStoredApp } from './oauth-app.sql.ts';

/**
 * Deletes a provider app. Connections made with it stay until their tokens expire, and cannot be
 * refreshed.
 */
export async function deleteOauthApp(
  { db, apps, readPrincipal }: Pick<Deps, 'db' | 'apps' | 'readPrincipal'>,
  {
    principal: signed,
    provider,
    context,
  }: { principal: string; provider: string; context: CallContext },
): Promise<Record<string, never>> {
  const principal = requireAdmin(readPrincipal(signed));
  const { orgId } = principal;
  await db.transaction(async (tx) => {
    if (!(await deleteStoredApp(tx, { orgId, provider }))) {
      if (apps.ofEnvironment(provider) === undefined) {
        throw new AppError('not_found', 'The org has set up no such provider.');
      }
      throw new AppError('conflict', 'This app is set in the environment; remove it there.');
    }
    const text = `Removed the app of the provider ${provider}`;
    await appendEvent(tx, createOauthAppEvent({ provider, text, by: { principal, context } }));
  });
  return {};
}
