import type { OauthApp } from '#contracts/http/oauth-apps';
import { AppError } from '#errors';
import { builtInProviders } from '#providers';
import { presentApp } from '../connections/present-app.ts';
import type { Deps } from '../deps.ts';
import { findOauthApp } from '../repository/oauth-app.ts';

export async function getOauthApp(
  { db, apps, readPrincipal }: Pick<Deps, 'db' | 'apps' | 'readPrincipal'>,
  { principal, provider: key }: { principal: string; provider: string },
): Promise<OauthApp> {
  const { orgId } = readPrincipal(principal);
  const stored = (await findOauthApp(db, { orgId, provider: key })) ?? null;
  const provider = stored?.definition ?? builtInProviders().get(key);
  if (provider !== undefined) return presentApp(apps, { provider, stored });
  throw new AppError('not_found', 'There is no such provider; GET /v1/oauth-apps lists them.');
}
