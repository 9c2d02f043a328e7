import type { Client } from '#bus';
import type { auth } from '#contracts/bus/auth';
import type { executor } from '#contracts/bus/executor';
import type { registry } from '#contracts/bus/registry';
import type { DecisionStatement } from '#contracts/decision';
import type { Gap, Permit } from '#contracts/permit';
import type { Principal } from '#contracts/vocabulary';
import type { Database } from '#database';
import type { Signer, Verifier } from '#signing';
import type { Logger } from '#telemetry';
import type { Lookups } from './lookups/lookups.ts';
import type { RuleUse } from './rule-use.ts';

/** What the use cases are given. */
export interface Deps {
  readonly db: Database;
  readonly logger: Logger;
  readonly auth: Client<typeof auth>;
  readonly executor: Client<typeof executor>;
  readonly registry: Client<typeof registry>;
  /** What others know, at most a second old. */
  readonly lookups: Lookups;
  /** The caller a signed principal vouches for; `unauthenticated` when it is not genuine or too old. */
  readonly readPrincipal: (signed: string) => Principal;
  readonly permitSigner: Signer<Permit>;
  readonly gapSigner: Signer<Gap>;
  readonly gapVerifier: Verifier<Gap>;
  readonly decisionVerifier: Verifier<DecisionStatement>;
  readonly ruleUse: RuleUse;
  /** Milliseconds since the epoch; for signatures alone, never for a rule's end. */
  readonly now: () => number;
  readonly newId: () => string;
}
