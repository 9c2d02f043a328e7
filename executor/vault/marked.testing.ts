import { SecretText } from '#config';
import { openDatabase } from '#database';
import { createLogger } from '#telemetry';
import { oauthAppSealContextOf } from '../providers/provider-apps.ts';
import { readMasterKeys } from './master-keys.ts';
import { openVault, secretSealContextOf } from './vault.ts';
import type { OrgSealContext } from './vault.ts';

/**
 * Fails when a test stored a credential without the marker `CANARY-`. The check after the test run
 * finds leaked credentials by this marker (`test/support/canaries.ts`). Skips ciphertexts that a
 * test made unreadable.
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
    const sealContext: OrgSealContext = app
      ? oauthAppSealContextOf({ orgId, id, version })
      : secretSealContextOf({ orgId, secretId: id, version });
    const value = await vault.unseal(db, sealContext, sealed).catch(() => 'CANARY-');
    if (!value.includes('CANARY-')) {
      throw new Error(`the vault was given "${value}": use canary(), or the sweep cannot see it`);
    }
  }
}
