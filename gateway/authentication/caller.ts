import type { Principal } from '#contracts/vocabulary';

/** An authenticated caller: the principal that auth signed, and the claims in the principal. */
export interface Caller {
  readonly principal: string;
  readonly claims: Principal;
}

export interface Credential {
  readonly kind: 'bearer' | 'session';
  readonly token: string;
}
