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
  /** The request that the form answers; absent when a person adds a service without a request. */
  readonly request?: ServiceRequest;
  /** The element beside the button with which the person declines. */
  readonly decline?: JSX.Element;
  /** The service that takes this version of the template. */
  readonly upgrade?: ServiceUpgrade;
  readonly onConnected: (service: ConnectedService) => void;
  /** Loads the template once more, because it was changed since the person looked at it. */
  readonly onChanged: () => void;
}

export interface FormProps extends ConnectFormProps {
  readonly secrets: readonly Secret[];
  readonly connections: readonly Connection[];
  readonly services: readonly ConnectedService[];
  /** Allow rules that name the suggested name of the service. */
  readonly rules: readonly Rule[];
  /** The provider's app; null when no template needs one, or when nobody knows the provider. */
  readonly app: OauthApp | null;
}
