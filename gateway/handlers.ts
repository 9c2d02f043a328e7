import type { Deps } from './deps.ts';
import type { RouteHandlers } from './http/route-handler.ts';
import { actionHandlers } from './routes/actions.ts';
import { approvalHandlers } from './routes/approvals.ts';
import { auditHandlers } from './routes/audit.ts';
import { connectionHandlers, oauthAppHandlers } from './routes/connections.ts';
import { fileHandlers } from './routes/files.ts';
import { identityHandlers } from './routes/identities.ts';
import { oauthClientHandlers } from './routes/oauth-clients.ts';
import { profileHandlers } from './routes/profile.ts';
import { requestHandlers } from './routes/requests.ts';
import { ruleHandlers } from './routes/rules.ts';
import { searchHandlers } from './routes/search.ts';
import { secretRequestHandlers } from './routes/secret-requests.ts';
import { secretHandlers } from './routes/secrets.ts';
import { serviceHandlers, serviceToolHandlers } from './routes/services.ts';
import { signInHandlers } from './routes/sign-in.ts';
import { statusHandlers } from './routes/status.ts';
import { templateImportHandlers } from './routes/template-import.ts';
import { templateHandlers } from './routes/templates.ts';
import { userHandlers } from './routes/users.ts';
import { webhookHandlers } from './routes/webhooks.ts';

/** Creates the handlers of all routes. A missing handler is a compile error. */
export function createHandlers(deps: Deps): RouteHandlers {
  return {
    ...identityHandlers(deps),
    ...userHandlers(deps),
    ...profileHandlers(deps),
    ...signInHandlers(deps),
    ...oauthClientHandlers(deps),
    ...secretHandlers(deps),
    ...secretRequestHandlers(deps),
    ...connectionHandlers(deps),
    ...oauthAppHandlers(deps),
    ...requestHandlers(deps),
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
