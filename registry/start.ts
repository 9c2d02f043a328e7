import { busServerOf, connectBus, createClient, serve } from '#bus';
import type { InProcess } from '#bus';
import { executor } from '#contracts/bus/executor';
import { registry } from '#contracts/bus/registry';
import { openOwnDatabase } from '#database';
import { createPlainHttpCheck, openEgress, readEgressSettings } from '#egress';
import { startRelay } from '#events';
import { repeat } from '#process';
import type { RunningComponent } from '#process';
import { busCheck, databaseChecks, watchReadiness } from '#readiness';
import { createPrincipalReader } from '#signing';
import { createLogger } from '#telemetry';
import { createCatalog } from './templates/catalog.ts';
import { createCompiler } from './compiler/compiler.ts';
import type { RegistryConfig } from './config.ts';
import type { Deps } from './deps.ts';
import { createHandlers } from './handlers.ts';
import { createImportSlots } from './import/import-slots.ts';
import { createImporter } from './import/importer.ts';

import { createSearchIndexes } from './search/search-indexes.ts';
import { compiledInThisProcess } from './templates/shipped-templates.ts';
import { openTemplateFolder, signatureOf } from './templates/template-folder.ts';
import { loadBuiltInTemplates } from './templates/load-built-in-templates.ts';
import type { LoadedFiles } from './templates/load-built-in-templates.ts';
import { refreshTools } from './tools/refresh-tools.ts';

/**
 * How often the folder of templates is read: a changed template takes effect after at most this
 * time, without a restart.
 */
const pollEveryMs = 2_000;
/** How often the registry looks for MCP servers that are due to be asked for their tools. */
const refreshEveryMs = 10_000;

/**
 * Builds the dependencies, loads the built-in templates and starts to answer requests. Disposing
 * the result stops everything in reverse order.
 */
export async function startRegistry(
  config: RegistryConfig,
  { local }: InProcess = {},
): Promise<RunningComponent> {
  const logger = createLogger({ component: 'registry', level: config.LOG_LEVEL });

  await using startup = new AsyncDisposableStack();
  const db = startup.use(await openOwnDatabase(config, { schema: 'registry', logger }));
  const bus = startup.use(await connectBus({ ...busServerOf(config), name: 'registry', local }));
  const relay = startup.use(startRelay({ db, bus, owner: 'registry', logger }));

  const { compile, readTools } = startup.use(createCompiler({ egressAllow: config.EGRESS_ALLOW }));
  const importer = startup.use(createImporter());
  const egressSettings = readEgressSettings(config);
  const egress = startup.use(openEgress({ ...egressSettings, logger }));
  const isPlainHttpAllowed = createPlainHttpCheck(egressSettings.allow);
  const deps: Deps = {
    db,
    executor: createClient(bus, executor),
    catalog: createCatalog(),
    searchIndexes: createSearchIndexes(),
    compile,
    readTools,
    importDocument: (call) => importer.importDocument(call),
    importSlots: createImportSlots(),
    egress,
    logger,
    readPrincipal: createPrincipalReader(config.PRINCIPAL_KEY_REGISTRY.reveal()),
    isPlainHttpAllowed,
  };
  startup.use(await followTemplates(deps, config));
  startup.use(
    repeat(refreshEveryMs, async () => {
      try {
        await refreshTools(deps);
      } catch (error) {
        logger.warn({ err: error }, 'tools could not be refreshed yet');
      }
    }),
  );
  const readiness = startup.use(
    await watchReadiness({ checks: [...databaseChecks(db), busCheck(bus)], logger }),
  );
  startup.use(await serve(bus, registry, createHandlers(deps, relay), { logger, readiness }));

  logger.info('started');
  const running = startup.move();
  return { logger, readiness, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** Loads the templates of the folder now, and again whenever a file in the folder changes. */
async function followTemplates(deps: Deps, config: RegistryConfig): Promise<AsyncDisposable> {
  const folder = openTemplateFolder(config);
  let knownSignature = await signatureOf(folder);
  const loadedFiles: LoadedFiles = compiledInThisProcess(config);
  await loadBuiltInTemplates(deps, await folder.readFiles(), loadedFiles);
  return repeat(pollEveryMs, async () => {
    try {
      const signature = await folder.readSignature();
      if (signature === knownSignature) return;
      await loadBuiltInTemplates(deps, await folder.readFiles(), loadedFiles);
      knownSignature = signature;
    } catch (error) {
      deps.logger.warn({ err: error }, 'templates could not be read again yet');
    }
  });
}
