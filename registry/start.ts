import { connectBus, createClient, serve } from '#bus';
import { executor } from '#contracts/bus/executor';
import { registry } from '#contracts/bus/registry';
import { openDatabase } from '#database';
import { createPlainHttpCheck, openEgress, ownAddressesOf, parseEgressAllow } from '#egress';
import { startRelay } from '#events';
import { repeat } from '#process';
import type { RunningComponent } from '#process';
import { createPrincipalReader } from '#signing';
import { createLogger } from '#telemetry';
import { createCatalog } from './catalog.ts';
import { createCompiler } from './compile/index.ts';
import type { RegistryConfig } from './config.ts';
import type { Deps } from './deps.ts';
import { createHandlers } from './handlers.ts';
import { createImportSlots } from './import-slots.ts';
import { createImporter } from './import/index.ts';

import { createSearchIndexes } from './search-indexes.ts';
import { compiledHere } from './shipped-templates.ts';
import { openTemplateFolder, signatureOf } from './template-folder.ts';
import { loadBuiltInTemplates } from './usecases/load-built-in-templates.ts';
import type { LoadedFiles } from './usecases/load-built-in-templates.ts';
import { refreshTools } from './usecases/refresh-tools.ts';

/** A changed template is in use this much later, without a restart. */
const pollEveryMs = 2_000;
/** How often it is looked whether an MCP server is due to be asked for its tools. */
const refreshEveryMs = 10_000;

/**
 * Wires the registry together, loads the built-in templates and starts answering.
 * Disposing the result stops it in the reverse order.
 */
export async function startRegistry(config: RegistryConfig): Promise<RunningComponent> {
  const logger = createLogger({ component: 'registry', level: config.LOG_LEVEL });

  await using startup = new AsyncDisposableStack();
  const db = startup.use(
    openDatabase({
      url: config.DATABASE_URL,
      schema: 'registry',
      connectionsMax: config.DATABASE_CONNECTIONS_MAX,
    }),
  );
  const bus = startup.use(await connectBus({ url: config.NATS_URL, name: 'registry' }));
  startup.use(startRelay({ db, bus, owner: 'registry', logger }));

  const { compile, readTools } = startup.use(createCompiler({ egressAllow: config.EGRESS_ALLOW }));
  const importer = startup.use(createImporter());
  const allow = parseEgressAllow(config.EGRESS_ALLOW);
  const egress = startup.use(
    openEgress({
      allow,
      proxy: config.EGRESS_PROXY,
      caFile: config.EGRESS_CA_FILE,
      ownAddresses: ownAddressesOf(config),
    }),
  );
  const isPlainHttpAllowed = createPlainHttpCheck(allow);
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
  startup.use(await serve(bus, registry, createHandlers(deps), { logger }));

  logger.info('started');
  const running = startup.move();
  return { logger, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** Loads the folder now, and again whenever something in it has changed. */
async function followTemplates(deps: Deps, config: RegistryConfig): Promise<AsyncDisposable> {
  const folder = openTemplateFolder(config.TEMPLATES_DIR);
  let known = await signatureOf(folder);
  const loaded: LoadedFiles = new Map(compiledHere(config));
  await loadBuiltInTemplates(deps, await folder.read(), loaded);
  return repeat(pollEveryMs, async () => {
    try {
      const signature = await folder.signature();
      if (signature === known) return;
      await loadBuiltInTemplates(deps, await folder.read(), loaded);
      known = signature;
    } catch (error) {
      deps.logger.warn({ err: error }, 'templates could not be read again yet');
    }
  });
}
