import { approvals } from './bus/approvals.ts';
import { audit } from './bus/audit.ts';
import { auth } from './bus/auth.ts';
import { executor } from './bus/executor.ts';
import { notifier } from './bus/notifier.ts';
import { policy } from './bus/policy.ts';
import { registry } from './bus/registry.ts';
import { actionRoutes } from './http/actions.ts';
import { approvalRoutes } from './http/approvals.ts';
import { auditRoutes } from './http/audit.ts';
import { connectionRoutes } from './http/connections.ts';
import { fileRoutes } from './http/files.ts';
import { identityRoutes } from './http/identities.ts';
import { oauthAppRoutes } from './http/oauth-apps.ts';
import { oauthClientRoutes } from './http/oauth-clients.ts';
import { profileRoutes } from './http/profile.ts';
import { requestRoutes } from './http/requests.ts';
import { ruleRoutes } from './http/rules.ts';
import { searchRoutes } from './http/search.ts';
import { secretRequestRoutes } from './http/secret-requests.ts';
import { secretRoutes } from './http/secrets.ts';
import { serviceToolRoutes } from './http/service-tools.ts';
import { serviceRoutes } from './http/services.ts';
import { signInRoutes } from './http/sign-in.ts';
import { statusRoutes } from './http/status.ts';
import { templateImportRoutes } from './http/template-import.ts';
import { templateRoutes } from './http/templates.ts';
import { userRoutes } from './http/users.ts';
import { webhookRoutes } from './http/webhooks.ts';

/** Every bus contract: the NATS permissions are generated from them. */
export const busContracts = { auth, registry, policy, executor, approvals, notifier, audit };

type BusContracts = typeof busContracts;
/** The names of all endpoints, such as `auth.updateIdentity`. */
export type EndpointName = {
  [Name in keyof BusContracts]: `${Name}.${keyof BusContracts[Name]['endpoints'] & string}`;
}[keyof BusContracts];
interface ServingRoute {
  readonly serves: EndpointName | readonly EndpointName[] | 'none';
}

/** Every REST route: the OpenAPI document is generated from them. */
export const httpRoutes = {
  ...identityRoutes,
  ...userRoutes,
  ...profileRoutes,
  ...signInRoutes,
  ...oauthClientRoutes,
  ...secretRoutes,
  ...secretRequestRoutes,
  ...connectionRoutes,
  ...oauthAppRoutes,
  ...requestRoutes,
  ...serviceRoutes,
  ...serviceToolRoutes,
  ...searchRoutes,
  ...templateRoutes,
  ...templateImportRoutes,
  ...actionRoutes,
  ...fileRoutes,
  ...approvalRoutes,
  ...ruleRoutes,
  ...webhookRoutes,
  ...auditRoutes,
  ...statusRoutes,
} satisfies Record<string, ServingRoute>;
export type RouteName = keyof typeof httpRoutes;
