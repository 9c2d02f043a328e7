import type { OauthApp } from '#contracts/http/oauth-apps';
import { builtInProviders } from '#providers';
import { presentOauthApp } from './present-oauth-app.ts';
import type { Deps } from '../deps.ts';
import { listOauthApps as listStoredApps } from './oauth-app.sql.ts';

/**
 * Lists the built-in providers and the org's own providers, whether or not an app is set up for
 * them.
 */
export async function listOauthApps(
  { db, apps, readPrincipal }: Pick<Deps, 'db' | 'apps' | 'readPrincipal'>,
  { principal }: { principal: string },
): Promise<{ items: OauthApp[] }> {
  const { orgId } = readPrincipal(principal);
  const storedApps = new Map(
    (await listStoredApps(db, { orgId })).map((each) => [each.provider, each]),
  );
  const builtInApps = [...builtInProviders().values()].map((provider) => {
    const ownApp = storedApps.get(provider.key) ?? null;
    return { provider: ownApp?.definition ?? provider, stored: ownApp };
  });
  const orgApps = [...storedApps.values()].flatMap((ownApp) =>
    ownApp.definition === null || builtInProviders().has(ownApp.provider)
      ? []
      : [{ provider: ownApp.definition, stored: ownApp }],
  );
  const items = [...builtInApps, ...orgApps].map((each) => presentOauthApp(apps, each));
  return { items: items.toSorted((a, b) => (a.provider < b.provider ? -1 : 1)) };
}
