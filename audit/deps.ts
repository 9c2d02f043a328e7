import type { Principal } from '#contracts/vocabulary';
import type { Database } from '#database';
import type { Logger } from '#telemetry';

/** The dependencies of the use cases. */
export interface Deps {
  readonly db: Database;
  readonly logger: Logger;
  /**
   * Verifies a signed principal and returns its claims. Throws `unauthenticated` if the signature
   * is wrong or the principal has expired.
   */
  readonly readPrincipal: (signed: string) => Principal;
}
