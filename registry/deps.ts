import type { Client } from '#bus';
import type { executor } from '#contracts/bus/executor';
import type { Principal } from '#contracts/vocabulary';
import type { Database } from '#database';
import type { Egress } from '#egress';
import type { Logger } from '#telemetry';
import type { Catalog } from './templates/catalog.ts';
import type { Compile, ReadTools } from './compiler/compiler.ts';
import type { ImportSlots } from './import/import-slots.ts';
import type { ImportPool } from './import/pool.ts';
import type { SearchIndexes } from './search/search-indexes.ts';

/** The dependencies of the use cases. */
export interface Deps {
  readonly db: Database;
  readonly executor: Pick<
    Client<typeof executor>,
    | 'describeSecrets'
    | 'allowSecretHosts'
    | 'describeConnections'
    | 'allowConnectionHosts'
    | 'discoverTools'
    | 'checkRequest'
    | 'finishRequest'
  >;
  readonly catalog: Catalog;
  readonly searchIndexes: SearchIndexes;
  /** Compiles a document that an author wrote, on another thread. */
  readonly compile: Compile;
  readonly readTools: ReadTools;
  readonly importDocument: ImportPool['importDocument'];
  readonly importSlots: ImportSlots;
  /**
   * The guarded HTTP client, for imports by URL. The registry makes no other requests to the
   * outside.
   */
  readonly egress: Egress;
  readonly logger: Logger;
  /**
   * Verifies a signed principal and returns its claims. Throws `unauthenticated` if the signature
   * is wrong or the principal has expired.
   */
  readonly readPrincipal: (signed: string) => Principal;
  /** Whether the operator allows calls by plain http to this host (setting EGRESS_ALLOW). */
  readonly isPlainHttpAllowed: (host: string) => boolean;
}
