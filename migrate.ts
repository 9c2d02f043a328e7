/**
 * `node migrate.ts`: migrates Postgres, records the digests of the built-in templates and creates
 * the streams of events. Run it once per release, before the components start. It reads
 * DATABASE_URL (for the owner of the schemas), the *_DATABASE_URL of each component (and creates
 * the role in this URL) and PROVISION_NATS_URL. Each of them may also be given as *_FILE.
 */
import { defineConfig, loadConfig } from '#config';
import type { Environment } from '#config';
import { databaseUrlOf } from '#database';
import { orExit } from '#process';
import { provisionConfig } from './check-settings.ts';
import { provisionBus, provisionDatabase, provisionTemplates, schemaOwners } from './provision.ts';
import type { Role, SchemaOwner } from './provision.ts';

await orExit(async () => {
  const config = loadConfig(provisionConfig, process.env);
  const adminUrl = databaseUrlOf(config);
  await provisionDatabase({ adminUrl, roles: readRoles(process.env) });
  await provisionTemplates({ adminUrl, ...config });
  await provisionBus({
    natsUrl: config.NATS_URL,
    caFile: config.SERVERS_CA_FILE,
    replicas: config.NATS_REPLICAS,
    auditBytesMax: config.AUDIT_BYTES_MAX,
    eventsBytesMax: config.EVENTS_BYTES_MAX,
    filesBytesMax: config.CAP_FILES_BYTES,
  });
  process.stdout.write('Schemas and streams are up to date.\n');
});

/** The database roles from the URLs of the components. Throws a `ConfigError` for a wrong URL. */
function readRoles(environment: Environment): Partial<Record<SchemaOwner, Role>> {
  const roles = schemaOwners.flatMap((component) => {
    const variable = `${component.toUpperCase()}_DATABASE_URL`;
    const own = {
      [variable]: environment[variable],
      [`${variable}_FILE`]: environment[`${variable}_FILE`],
    };
    if (!Object.values(own).some(Boolean)) return [];
    const { DATABASE_URL } = loadConfig(defineConfig(component, ['DATABASE_URL']), own);
    const { username, password } = new URL(DATABASE_URL);
    const role = { user: decodeURIComponent(username), password: decodeURIComponent(password) };
    return [[component, role] as const];
  });
  return Object.fromEntries(roles);
}
