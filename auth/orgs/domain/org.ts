import type { OrgSettings } from '#contracts/bus/auth';

export interface Org {
  readonly id: string;
  readonly name: string;
}

export interface OrgProfile extends Org, OrgSettings {
  readonly createdAt: Date;
  /** Null allows every OAuth client. */
  readonly oauthClientAllowList: readonly string[] | null;
  /** A dashboard session ends when it was not used for this time. */
  readonly sessionIdleSeconds: number;
}
