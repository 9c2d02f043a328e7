import type { ExecutorFollower } from '#beats';
import type { Bus, Client, FileReader, RepetitionBudget } from '#bus';
import type { approvals } from '#contracts/bus/approvals';
import type { audit } from '#contracts/bus/audit';
import type { auth } from '#contracts/bus/auth';
import type { executor } from '#contracts/bus/executor';
import type { notifier } from '#contracts/bus/notifier';
import type { policy } from '#contracts/bus/policy';
import type { registry } from '#contracts/bus/registry';
import type { Publisher, StreamWatch } from '#events';
import type { Readiness } from '#readiness';
import type { AuditShare } from '#shares';
import type { Macs } from '#signing';
import type { Logger } from '#telemetry';
import type { AuthEvents } from './events/auth-events.ts';
import type { Authenticator } from './authentication/authenticator.ts';
import type { CallLimits } from './calls/domain/call-body.ts';
import type { CallReport } from './records/call-report.ts';
import type { Site } from './authentication/domain/site.ts';
import type { Feed } from './events/feed.ts';
import type { RateLimits } from './limits/rate-limits.ts';
import type { AccessLog } from './records/access-log.ts';
import type { Refusals } from './records/refusals.ts';
import type { RequestSlots } from './limits/request-slots.ts';

/** Clients of the other components. */
export interface ComponentClients {
  readonly auth: Client<typeof auth>;
  readonly registry: Client<typeof registry>;
  readonly policy: Client<typeof policy>;
  readonly executor: Client<typeof executor>;
  readonly approvals: Client<typeof approvals>;
  readonly notifier: Client<typeof notifier>;
  readonly audit: Client<typeof audit>;
}

export interface Deps extends ComponentClients {
  readonly bus: Bus;
  readonly readiness: Pick<Readiness, 'failing'>;
  readonly authenticator: Authenticator;
  readonly authEvents: AuthEvents;
  /** Verifies the approval cards, which show the call that an approval would run. */
  readonly cards: Macs;
  readonly files: FileReader;
  readonly publisher: Publisher;
  readonly streams: Pick<StreamWatch, 'states'>;
  readonly refusals: Refusals;
  readonly feed: Feed;
  /**
   * Tells the executors that the client of the read with this audit id has disconnected, so that
   * they end the read.
   */
  readonly announceDisconnect: (auditId: string) => void;
  /** Passes on the outcome of a call, for the log and for a person at a terminal. */
  readonly reportCall: (report: CallReport) => void;
  /** Follows the beats of the executors, to notice when the executor of a call is dead. */
  readonly executors: ExecutorFollower;
  /** Limits how many calls are sent to a second executor. */
  readonly secondExecutions: RepetitionBudget;
  readonly rates: RateLimits;
  readonly slots: RequestSlots;
  readonly auditShare: AuditShare;
  /** Limits on the JSON of a request. */
  readonly limits: CallLimits;
  /** Returns the gateway's own address, which is known only once its port is known. */
  readonly site: () => Site;
  /** The origins of other sites whose pages may use `/mcp`. */
  readonly mcpOrigins: readonly string[];
  /**
   * Aborts when the gateway begins to stop. Streams then end, and waiting calls answer with their
   * current state.
   */
  readonly stopping: AbortSignal;
  readonly logger: Logger;
  readonly accessLog: AccessLog;
}
