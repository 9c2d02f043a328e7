import { httpRoutes } from '#contracts/all';
import type { RouteName } from '#contracts/all';
import type { RouteSpec } from '#contracts/http/define';
import { bodies } from '../idor/possessions.ts';
import { templateDocument } from '../support/template.ts';

/** A valid body for each route that is a user's alone: only who sends it may be what is wrong. */
const wishes: Partial<Record<RouteName, unknown>> = {
  ...bodies,
  createAgent: { name: 'accomplice' },
  createUser: { email: 'evil@example.com', role: 'admin', name: 'evil' },
  inviteUser: { email: 'evil@example.com', role: 'admin', name: 'evil' },
  changeUser: { role: 'admin' },
  changeOrg: { approval_ttl_seconds: 60, auto_bubble_seconds: 0 },
  createSecret: { name: 'planted', value: 'CANARY-planted', allowed_hosts: ['evil.example'] },
  updateSecret: { allowed_hosts: ['evil.example'] },
  provideSecret: { value: 'CANARY-planted', allowed_hosts: ['evil.example'] },
  createService: { template: 'sendgrid', name: 'planted', auto_allow_reads: true },
  updateService: { auto_allow_reads: true },
  createTemplate: { openapi: templateDocument('planted') },
  validateTemplate: { openapi: templateDocument('planted') },
  importTemplate: { source: { document: templateDocument('planted') } },
  startUpload: { text: 'openapi: 3.1.0' },
  createRule: { identity_id: null, effect: 'allow', pattern: '*:*:*' },
  createWebhook: { url: 'https://evil.example/hook' },
};

/** What agents may ask for; a route that is not named here is refused to them. */
const forAgents: readonly RouteName[] = [
  ...(['getMe', 'getStatus', 'getLive', 'getReady', 'signIn'] as const),
  ...(['listIdentities', 'getIdentity', 'createSubagent', 'updateIdentity'] as const),
  ...(['archiveIdentity', 'restoreIdentity', 'revokeIdentity'] as const),
  ...(['listAgentKeys', 'createAgentKey', 'revokeAgentKey'] as const),
  ...(['listServices', 'getService', 'search', 'listTemplates', 'getTemplate'] as const),
  ...(['listSecrets', 'listConnections', 'createConnection'] as const),
  ...(['callAction', 'callConnection', 'validateAction', 'getFile'] as const),
  ...(['listApprovals', 'getApproval'] as const),
  ...(['resolveApproval', 'cancelApproval', 'callApproval'] as const),
  'requestSecret',
];

/** Everything that only a person may do, whatever the contracts say. */
export const usersRoutes = (Object.entries(httpRoutes) as [RouteName, RouteSpec][])
  .filter(([name]) => !forAgents.includes(name))
  .map(([name, { method, path, body }]) => ({
    name,
    method,
    path,
    body: wishes[name],
    lacksBody: body !== undefined && wishes[name] === undefined,
  }));
