import type { DecisionStatement } from '#contracts/decision';
import type { Principal } from '#contracts/vocabulary';
import type { Database } from '#database';
import type { Signer } from '#signing';
import type { Logger } from '#telemetry';
import type { ActivityLog } from './authentication/activity-log.ts';
import type { PasswordHasher } from './passwords/password-hasher.ts';
import type { SignInProviders } from './sign-in-providers/sign-in-providers.ts';
import type { CredentialCache } from './authentication/credential-cache.ts';

/** The dependencies of the use cases. */
export interface Deps {
  readonly db: Database;
  readonly signer: Signer<Principal>;
  readonly decisionSigner: Signer<DecisionStatement>;
  /** Verifies a signed principal; throws `unauthenticated` when it is forged or expired. */
  readonly readPrincipal: (signed: string) => Principal;
  readonly credentials: CredentialCache;
  readonly activityLog: ActivityLog;
  readonly passwordHasher: PasswordHasher;
  readonly providers: SignInProviders;
  /** The public URL of the gateway; every link begins with it. */
  readonly baseUrl: string;
  readonly logger: Logger;
  readonly now: () => number;
  readonly randomBytes: (length: number) => Uint8Array;
}
