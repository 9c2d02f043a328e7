import type { Bus, Client, FileReader } from '#bus';
import type { approvals } from '#contracts/bus/approvals';
import type { audit } from '#contracts/bus/audit';
import type { auth } from '#contracts/bus/auth';
import type { executor } from '#contracts/bus/executor';
import type { notifier } from '#contracts/bus/notifier';
import type { policy } from '#contracts/bus/policy';
import type { registry } from '#contracts/bus/registry';
import type { Publisher } from '#events';
import type { AuditShare } from '#shares';
import type { Macs } from '#signing';
import type { Logger } from '#telemetry';
import type { AuthEvents } from './auth-events.ts';
import type { Authenticator } from './authenticate.ts';
import type { CallLimits } from './domain/call-body.ts';
import type { Site } from './domain/site.ts';
import type { Feed } from './feed.ts';
import type { RateLimits } from './rate-limits.ts';
import type { Refusals } from './refusals.ts';
import type { UnderWay } from './under-way.ts';

/** The components behind the edge. */
export interface Neighbours {
  readonly auth: Client<typeof auth>;
  readonly registry: Client<typeof registry>;
  readonly policy: Client<typeof policy>;
  readonly executor: Client<typeof executor>;
  readonly approvals: Client<typeof approvals>;
  readonly notifier: Client<typeof notifier>;
  readonly audit: Client<typeof audit>;
}

export interface Deps extends Neighbours {
  readonly bus: Bus;
  readonly authenticator: Authenticator;
  readonly authEvents: AuthEvents;
  /** What the cards of approvals are checked by. */
  readonly cards: Macs;
  readonly files: FileReader;
  readonly publisher: Publisher;
  readonly refusals: Refusals;
  readonly feed: Feed;
  /** Ends the read that will be recorded under this id: its client has gone. */
  readonly announceDisconnect: (auditId: string) => void;
  readonly rates: RateLimits;
  readonly underWay: UnderWay;
  readonly auditShare: AuditShare;
  /** What the JSON of a request may hold. */
  readonly limits: CallLimits;
  /** Known once the port is. */
  readonly site: () => Site;
  /** Aborted when the gateway begins to stop: streams end, waiting calls answer what they know. */
  readonly stopping: AbortSignal;
  readonly logger: Logger;
}
