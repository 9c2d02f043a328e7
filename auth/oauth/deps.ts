import type { Egress } from '#egress';
import type { Logger } from '#telemetry';
import type { Deps } from '../deps.ts';
import type { ClientDocuments } from './client-document.ts';

/** The dependencies of the authorization server, in addition to those of all use cases. */
export interface OauthDeps extends Deps {
  /** The public URL of the gateway. It is the issuer and the audience of tokens. */
  readonly baseUrl: string;
  readonly egress: Egress;
  readonly clientDocuments: ClientDocuments;
  readonly logger: Logger;
  readonly reuseGraceSeconds: number;
  /** Further schemes that redirect URIs may have. */
  readonly redirectSchemes: ReadonlySet<string>;
}
