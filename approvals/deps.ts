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
import type { Replays } from './replays.ts';

/** What the use cases are given. */
export interface Deps {
  readonly db: Database;
  readonly logger: Logger;
  readonly auth: Client<typeof auth>;
  readonly policy: Client<typeof policy>;
  readonly executor: Client<typeof executor>;
  /** Refuses a principal that is not genuine or has expired. */
  readonly readPrincipal: (signed: string) => Principal;
  readonly gaps: Verifier<Gap>;
  readonly decisions: Verifier<DecisionStatement>;
  /** At most a second old. */
  readonly getOrgSettings: (orgId: string) => Promise<OrgSettings>;
  /** Milliseconds since the epoch; for signatures alone, never for a state. */
  readonly now: () => number;
  readonly baseUrl: string;
  readonly limits: {
    readonly openPerRequester: number;
    readonly openPerSubtree: number;
    /** In one org; 0 = no limit. */
    readonly raisedPerHour: number;
  };
}

/** With the replays, for the use cases that start one. */
export interface DepsWithReplays extends Deps {
  readonly replays: Replays;
}
