import type { Client } from '#bus';
import type { executor } from '#contracts/bus/executor';
import type { Principal } from '#contracts/vocabulary';
import type { Database } from '#database';
import type { Egress } from '#egress';
import type { Logger } from '#telemetry';
import type { Catalog } from './catalog.ts';
import type { Compile, ReadTools } from './compile/index.ts';
import type { ImportSlots } from './import-slots.ts';
import type { ImportPool } from './import/index.ts';
import type { SearchIndexes } from './search-indexes.ts';

/** What the use cases are given. */
export interface Deps {
  readonly db: Database;
  readonly executor: Pick<
    Client<typeof executor>,
    | 'describeSecrets'
    | 'allowSecretHosts'
    | 'describeConnections'
    | 'allowConnectionHosts'
    | 'discoverTools'
  >;
  readonly catalog: Catalog;
  readonly searchIndexes: SearchIndexes;
  /** Reads and checks a document of an author, away from the event loop. */
  readonly compile: Compile;
  readonly readTools: ReadTools;
  readonly importDocument: ImportPool['importDocument'];
  readonly importSlots: ImportSlots;
  /** The only way out: fetches documents that are imported by URL. */
  readonly egress: Egress;
  readonly logger: Logger;
  /** Throws `unauthenticated` when the text was not signed by auth, or too long ago. */
  readonly readPrincipal: (signed: string) => Principal;
  /** The operator lets services be reached at this host by plain http (setting EGRESS_ALLOW). */
  readonly isPlainHttpAllowed: (host: string) => boolean;
}
