import type { OrgSettings } from '#contracts/bus/auth';

export interface Org {
  readonly id: string;
  readonly name: string;
}

export interface OrgProfile extends Org, OrgSettings {
  readonly createdAt: Date;
  /** Null allows every OAuth client. */
  readonly oauthClientAllowList: readonly string[] | null;
  /** The idle time after which a dashboard session ends, in seconds. */
  readonly sessionIdleSeconds: number;
}
