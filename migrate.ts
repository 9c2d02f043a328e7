/**
 * `node migrate.ts`: migrates Postgres, records the digests of the built-in templates and creates
 * the streams of events. Run it once per release, before the components start. It reads DATABASE_URL (as
 * the owner of the schemas), each component's *_DATABASE_URL (whose role it creates) and
 * PROVISION_NATS_URL.
 */
import { defineConfig, loadConfig } from '#config';
import { orExit } from '#process';
import { provisionBus, provisionDatabase, provisionTemplates, schemaOwners } from './provision.ts';
import type { Role, SchemaOwner } from './provision.ts';

const migrateConfig = defineConfig('provision', [
  'DATABASE_URL',
  'NATS_URL',
  'NATS_REPLICAS',
  'AUDIT_BYTES_MAX',
  'EVENTS_BYTES_MAX',
  'CAP_FILES_BYTES',
  'TEMPLATES_DIR',
  'EGRESS_ALLOW',
]);

await orExit(async () => {
  const config = loadConfig(migrateConfig, process.env);
  await provisionDatabase({ adminUrl: config.DATABASE_URL, roles: readRoles(process.env) });
  await provisionTemplates({ adminUrl: config.DATABASE_URL, ...config });
  await provisionBus({
    natsUrl: config.NATS_URL,
    replicas: config.NATS_REPLICAS,
    auditBytesMax: config.AUDIT_BYTES_MAX,
    eventsBytesMax: config.EVENTS_BYTES_MAX,
    filesBytesMax: config.CAP_FILES_BYTES,
  });
  process.stdout.write('Schemas and streams are up to date.\n');
});

/** The database roles that the components' own URLs name. */
function readRoles(environment: NodeJS.ProcessEnv): Partial<Record<SchemaOwner, Role>> {
  const roles = schemaOwners.flatMap((component) => {
    const url = environment[`${component.toUpperCase()}_DATABASE_URL`];
    if (url === undefined) return [];
    const { username, password } = new URL(url);
    const role = { user: decodeURIComponent(username), password: decodeURIComponent(password) };
    return [[component, role] as const];
  });
  return Object.fromEntries(roles);
}
