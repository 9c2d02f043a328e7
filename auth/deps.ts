import type { DecisionStatement } from '#contracts/decision';
import type { Principal } from '#contracts/vocabulary';
import type { Database } from '#database';
import type { Signer } from '#signing';
import type { Logger } from '#telemetry';
import type { ActivityLog } from './activity.ts';
import type { PasswordHasher } from './password-hasher.ts';
import type { SignInProviders } from './sign-in-providers.ts';
import type { CredentialCache } from './usecases/authenticate.ts';

/** What the use cases are given. */
export interface Deps {
  readonly db: Database;
  readonly signer: Signer<Principal>;
  readonly decisionSigner: Signer<DecisionStatement>;
  /** The caller a signed principal vouches for; `unauthenticated` when it is not genuine or too old. */
  readonly readPrincipal: (signed: string) => Principal;
  readonly credentials: CredentialCache;
  readonly activity: ActivityLog;
  readonly passwords: PasswordHasher;
  readonly providers: SignInProviders;
  /** What the gateway calls itself; links begin with it. */
  readonly baseUrl: string;
  readonly logger: Logger;
  readonly now: () => number;
  readonly randomBytes: (length: number) => Uint8Array;
}
