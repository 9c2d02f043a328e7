import type { Principal } from '#contracts/vocabulary';
import type { Database } from '#database';
import type { Logger } from '#telemetry';

/** What the use cases are given. */
export interface Deps {
  readonly db: Database;
  readonly logger: Logger;
  /** The caller a signed principal vouches for; `unauthenticated` when it is not genuine or too old. */
  readonly readPrincipal: (signed: string) => Principal;
}
