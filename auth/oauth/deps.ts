import type { Egress } from '#egress';
import type { Logger } from '#telemetry';
import type { Deps } from '../deps.ts';
import type { ClientDocuments } from './client-document.ts';

/** What the authorization server needs beside what every use case is given. */
export interface OauthDeps extends Deps {
  /** What the deployment calls itself: issuer and audience. */
  readonly baseUrl: string;
  readonly egress: Egress;
  readonly documents: ClientDocuments;
  readonly logger: Logger;
  readonly reuseGraceSeconds: number;
}
