import type { Principal } from '#contracts/vocabulary';
import type { FeedItem } from '#contracts/events';
import type { Database } from '#database';
import type { Egress } from '#egress';
import type { Logger } from '#telemetry';

/** What the use cases are given. */
export interface Deps {
  readonly db: Database;
  readonly logger: Logger;
  readonly egress: Egress;
  /** Throws `unauthenticated` for a principal that is not genuine or no longer fresh. */
  readonly readPrincipal: (signed: string) => Principal;
  /** The signing secret of a subscription: derived, never stored. */
  readonly webhookSecret: (webhookId: string) => string;
  /** Announces feed items to the gateways that hold readers. */
  readonly announce: (items: readonly FeedItem[]) => void;
  /** Lets due deliveries be sent now instead of at the next turn. */
  readonly wakeDeliveries: () => void;
}
