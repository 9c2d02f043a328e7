import type { RouteName, httpRoutes } from '#contracts/all';
import type { Deps } from '../deps.ts';
import type { RouteHandler } from '../route.ts';
import { actionHandlers } from './actions.ts';
import { approvalHandlers } from './approvals.ts';
import { auditHandlers } from './audit.ts';
import { connectionHandlers, oauthAppHandlers } from './connections.ts';
import { fileHandlers } from './files.ts';
import { identityHandlers } from './identities.ts';
import { oauthClientHandlers } from './oauth-clients.ts';
import { ruleHandlers } from './rules.ts';
import { searchHandlers } from './search.ts';
import { secretRequestHandlers } from './secret-requests.ts';
import { secretHandlers } from './secrets.ts';
import { serviceHandlers, serviceToolHandlers } from './services.ts';
import { signInHandlers } from './sign-in.ts';
import { statusHandlers } from './status.ts';
import { templateImportHandlers } from './template-import.ts';
import { templateHandlers } from './templates.ts';
import { userHandlers } from './users.ts';
import { webhookHandlers } from './webhooks.ts';

type AllHandlers = { readonly [Name in RouteName]: RouteHandler<(typeof httpRoutes)[Name]> };

/** A handler for every route of the table. A route without one does not compile. */
export function createHandlers(deps: Deps): AllHandlers {
  return {
    ...identityHandlers(deps),
    ...userHandlers(deps),
    ...signInHandlers(deps),
    ...oauthClientHandlers(deps),
    ...secretHandlers(deps),
    ...secretRequestHandlers(deps),
    ...connectionHandlers(deps),
    ...oauthAppHandlers(deps),
    ...serviceHandlers(deps),
    ...serviceToolHandlers(deps),
    ...searchHandlers(deps),
    ...templateHandlers(deps),
    ...templateImportHandlers(deps),
    ...actionHandlers(deps),
    ...fileHandlers(deps),
    ...approvalHandlers(deps),
    ...ruleHandlers(deps),
    ...webhookHandlers(deps),
    ...auditHandlers(deps),
    ...statusHandlers(deps),
  };
}
