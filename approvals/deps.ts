import type { Client } from '#bus';
import type { auth, OrgSettings } from '#contracts/bus/auth';
import type { executor } from '#contracts/bus/executor';
import type { policy } from '#contracts/bus/policy';
import type { DecisionStatement } from '#contracts/decision';
import type { Gap } from '#contracts/permit';
import type { Principal } from '#contracts/vocabulary';
import type { Database } from '#database';
import type { Verifier } from '#signing';
import type { Logger } from '#telemetry';
import type { Actor } from './approval/domain/announcements.ts';
import type { ReplayTrigger } from './approval/domain/approval.ts';
import type { Outcome } from './executions/domain/outcome.ts';

/** The dependencies of every use case. */
export interface Deps {
  readonly db: Database;
  readonly logger: Logger;
  readonly auth: Client<typeof auth>;
  readonly policy: Client<typeof policy>;
  readonly executor: Client<typeof executor>;
  /** Verifies a signed principal; throws when it is forged or has expired. */
  readonly readPrincipal: (signed: string) => Principal;
  readonly gapVerifier: Verifier<Gap>;
  readonly decisions: Verifier<DecisionStatement>;
  /** The org's settings, at most a second old. */
  readonly getOrgSettings: (orgId: string) => Promise<OrgSettings>;
  /**
   * Milliseconds since the epoch, for checking signatures only. The states of approvals follow the
   * clock of Postgres.
   */
  readonly now: () => number;
  readonly baseUrl: string;
  readonly limits: {
    readonly openApprovalsPerRequesterMax: number;
    readonly openApprovalsPerSubtreeMax: number;
    /** The limit of each org; 0 means no limit. */
    readonly approvalsRaisedPerHourMax: number;
  };
}

/** The dependencies of the use cases that start a replay. */
export interface DepsWithReplays extends Deps {
  readonly replays: Replays;
}

export interface Replays extends AsyncDisposable {
  /**
   * Looks now for executions to replay. Called when this replica has allowed an approval or has
   * found a due execution.
   */
  wake(): void;
  /**
   * Runs an allowed call for a waiting caller. Undefined when another process has started the call,
   * or the call has ended.
   */
  run(request: {
    orgId: string;
    approvalId: string;
    trigger: ReplayTrigger;
    actor: Actor;
  }): Promise<Outcome | undefined>;
  /**
   * The end of a replay that runs in this process; undefined when no replay of the approval runs
   * here.
   */
  findRunning(key: { orgId: string; approvalId: string }): Promise<Outcome> | undefined;
}
