import { SecretText } from '#config';
import { openDatabase } from '#database';
import { createLogger } from '#telemetry';
import { appBinding } from '../connections/provider-apps.ts';
import { readMasterKeys } from './master-keys.ts';
import { openVault, secretBinding } from './vault.ts';
import type { OrgBinding } from './vault.ts';

/**
 * Fails when a test has given the vault a credential that the sweep of the run would not find again
 * (`test/support/canaries.ts`). What a test has made unreadable is passed over.
 */
export async function requireMarkedCredentials({
  adminUrl,
  masterKey,
}: {
  adminUrl: string;
  masterKey: string;
}): Promise<void> {
  await using db = openDatabase({ url: adminUrl, schema: 'executor', connectionsMax: 1 });
  const logger = createLogger({ component: 'test', level: 'silent' });
  const masterKeys = readMasterKeys(new SecretText(masterKey));
  const vault = await openVault({ db, masterKeys, logger }).catch(() => undefined);
  if (vault === undefined) return;
  const rows = await db<
    { org: string; id: string; version: number; sealed: Buffer; app: boolean }[]
  >`
    (select org_id as org, secret_id as id, version, sealed, false as app
       from executor.secret_version limit 200)
    union all
    (select org_id, id, version, sealed_secret, true
       from executor.oauth_app where sealed_secret is not null limit 200)
  `;
  for (const { org: orgId, id, version, sealed, app } of rows) {
    const binding: OrgBinding = app
      ? appBinding({ orgId, id, version })
      : secretBinding({ orgId, secretId: id, version });
    const value = await vault.unseal(db, binding, sealed).catch(() => 'CANARY-');
    if (!value.includes('CANARY-')) {
      throw new Error(`the vault was given "${value}": use canary(), or the sweep cannot see it`);
    }
  }
}
