/**
 * `node migrate.ts`: migrates Postgres, records what the built-in templates say and creates the
 * event stream, once per release, before the components start. Reads DATABASE_URL (the owner), the components' own *_DATABASE_URL
 * (whose roles it creates) and PROVISION_NATS_URL.
 */
import { defineConfig, loadConfig } from '#config';
import { orExit } from '#process';
import { provisionBus, provisionDatabase, provisionTemplates, schemaOwners } from './provision.ts';
import type { Role, SchemaOwner } from './provision.ts';

const migrateConfig = defineConfig('provision', [
  'DATABASE_URL',
  'NATS_URL',
  'NATS_REPLICAS',
  'CAP_FILES_BYTES',
  'TEMPLATES_DIR',
  'EGRESS_ALLOW',
]);

await orExit(async () => {
  const config = loadConfig(migrateConfig, process.env);
  await provisionDatabase({ adminUrl: config.DATABASE_URL, roles: rolesIn(process.env) });
  await provisionTemplates({ adminUrl: config.DATABASE_URL, ...config });
  await provisionBus({
    natsUrl: config.NATS_URL,
    replicas: config.NATS_REPLICAS,
    filesBytesMax: config.CAP_FILES_BYTES,
  });
  process.stdout.write('Schemas and event stream are up to date.\n');
});

/** The roles that the components' own URLs log in as. */
function rolesIn(environment: NodeJS.ProcessEnv): Partial<Record<SchemaOwner, Role>> {
  const roles = schemaOwners.flatMap((component) => {
    const url = environment[`${component.toUpperCase()}_DATABASE_URL`];
    if (url === undefined) return [];
    const { username, password } = new URL(url);
    const role = { user: decodeURIComponent(username), password: decodeURIComponent(password) };
    return [[component, role] as const];
  });
  return Object.fromEntries(roles);
}
