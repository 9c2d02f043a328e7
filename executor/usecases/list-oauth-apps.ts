import type { OauthApp } from '#contracts/http/oauth-apps';
import { builtInProviders } from '#providers';
import { presentApp } from '../connections/present-app.ts';
import type { Deps } from '../deps.ts';
import { listOauthApps as listStoredApps } from '../repository/oauth-app.ts';

/** Every provider there is for an org, set up or not: the built-in ones and its own. */
export async function listOauthApps(
  { db, apps, readPrincipal }: Pick<Deps, 'db' | 'apps' | 'readPrincipal'>,
  { principal }: { principal: string },
): Promise<{ items: OauthApp[] }> {
  const { orgId } = readPrincipal(principal);
  const stored = new Map(
    (await listStoredApps(db, { orgId })).map((each) => [each.provider, each]),
  );
  const builtIn = [...builtInProviders().values()].map((provider) => {
    const own = stored.get(provider.key) ?? null;
    return { provider: own?.definition ?? provider, stored: own };
  });
  const ofOrg = [...stored.values()].flatMap((own) =>
    own.definition === null || builtInProviders().has(own.provider)
      ? []
      : [{ provider: own.definition, stored: own }],
  );
  const items = [...builtIn, ...ofOrg].map((each) => presentApp(apps, each));
  return { items: items.toSorted((a, b) => (a.provider < b.provider ? -1 : 1)) };
}
