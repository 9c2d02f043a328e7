import type { Principal } from '#contracts/vocabulary';
import type { FeedItem } from '#contracts/events';
import type { Database } from '#database';
import type { Egress } from '#egress';
import type { Logger } from '#telemetry';

/** The dependencies of the use cases. */
export interface Deps {
  readonly db: Database;
  readonly logger: Logger;
  readonly egress: Egress;
  /**
   * Verifies a signed principal and returns its claims. Throws `unauthenticated` if the signature
   * is wrong or the principal has expired.
   */
  readonly readPrincipal: (signed: string) => Principal;
  /** Derives the signing secret of a subscription, which is stored nowhere. */
  readonly webhookSecretOf: (webhookId: string) => string;
  /** Publishes feed items to every gateway. */
  readonly announceItems: (items: readonly FeedItem[]) => void;
  /** Starts the next round of deliveries now instead of at the next poll. */
  readonly wakeDeliveries: () => void;
}
