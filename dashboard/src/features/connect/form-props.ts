import type { JSX } from 'solid-js';

import type { Connection } from '#contracts/http/connections';
import type { OauthApp } from '#contracts/http/oauth-apps';
import type { ServiceRequest } from '#contracts/http/requests';
import type { Rule } from '#contracts/http/rules';
import type { Secret } from '#contracts/http/secrets';
import type { ConnectedService } from '#contracts/http/services';
import type { TemplateDetail } from '#contracts/http/templates';
import type { ServiceUpgrade } from './held.ts';

export interface ConnectFormProps {
  readonly template: TemplateDetail;
  /** The request that the form answers. Absent if a person adds a service without a request. */
  readonly request?: ServiceRequest;
  /** The element with which the person declines, shown beside the button. */
  readonly decline?: JSX.Element;
  /** The service that is upgraded to this version of the template. Absent for a new service. */
  readonly upgrade?: ServiceUpgrade;
  readonly onConnected: (service: ConnectedService) => void;
  /** Loads the template again, because it has changed since the person looked at it. */
  readonly onChanged: () => void;
}

export interface FormProps extends ConnectFormProps {
  readonly secrets: readonly Secret[];
  readonly connections: readonly Connection[];
  readonly services: readonly ConnectedService[];
  /** Allow rules that contain the suggested name of the service. */
  readonly rules: readonly Rule[];
  /**
   * The provider's app. Null if no template needs one, or if the gateway does not know the
   * provider.
   */
  readonly app: OauthApp | null;
}
