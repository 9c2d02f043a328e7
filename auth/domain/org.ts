import type { OrgSettings } from '#contracts/bus/auth';

export interface Org {
  readonly id: string;
  readonly name: string;
}

export interface OrgProfile extends Org, OrgSettings {
  readonly createdAt: Date;
  /** Null: every OAuth client may be used. */
  readonly oauthClientAllowList: readonly string[] | null;
}
