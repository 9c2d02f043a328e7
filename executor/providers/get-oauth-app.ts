import type { OauthApp } from '#contracts/http/oauth-apps';
import { AppError } from '#errors';
import { builtInProviders } from '#providers';
import { presentOauthApp } from './present-oauth-app.ts';
import type { Deps } from '../deps.ts';
import { findOauthApp } from './oauth-app.sql.ts';

export async function getOauthApp(
  { db, apps, readPrincipal }: Pick<Deps, 'db' | 'apps' | 'readPrincipal'>,
  { principal, provider: key }: { principal: string; provider: string },
): Promise<OauthApp> {
  const { orgId } = readPrincipal(principal);
  const storedApp = (await findOauthApp(db, { orgId, provider: key })) ?? null;
  const provider = storedApp?.definition ?? builtInProviders().get(key);
  if (provider !== undefined) return presentOauthApp(apps, { provider, stored: storedApp });
  throw new AppError('not_found', 'There is no such provider; GET /v1/oauth-apps lists them.');
}
