import { httpRoutes } from '#contracts/all';
import type { RouteName } from '#contracts/all';
import type { RouteSpec } from '#contracts/http/define';
import { bodiesByRoute } from '../idor/possessions.ts';
import { templateDocument } from '../../support/template.ts';

/**
 * A valid body for each route that only people may call, so that the gateway can refuse the request
 * only because of its caller.
 */
const validBodies: Partial<Record<RouteName, unknown>> = {
  ...bodiesByRoute,
  createAgent: { name: 'accomplice' },
  createUser: { email: 'evil@example.com', role: 'admin', name: 'evil' },
  inviteUser: { email: 'evil@example.com', role: 'admin', name: 'evil' },
  changeUser: { role: 'admin' },
  changeProfile: { display_name: 'Somebody Else' },
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

/**
 * The routes that agents may call; every other route must refuse agents. The list does not use the
 * contracts' access rules, because it tests them.
 */
const routesForAgents: readonly RouteName[] = [
  ...(['getMe', 'getStatus', 'getLive', 'getReady', 'signIn'] as const),
  ...(['listIdentities', 'getIdentity', 'createSubagent', 'updateIdentity'] as const),
  ...(['archiveIdentity', 'restoreIdentity', 'revokeIdentity'] as const),
  ...(['listAgentKeys', 'createAgentKey', 'revokeAgentKey'] as const),
  ...(['listServices', 'getService', 'search', 'listTemplates', 'getTemplate'] as const),
  ...(['listSecrets', 'listConnections', 'createConnection'] as const),
  ...(['callAction', 'callConnection', 'validateAction', 'getFile'] as const),
  ...(['listApprovals', 'getApproval', 'explainApproval'] as const),
  ...(['resolveApproval', 'cancelApproval', 'callApproval'] as const),
  'requestSecret',
  ...(['createRequest', 'listRequests', 'getRequest', 'cancelRequest'] as const),
];

/** The routes that only people may call: every route that `routesForAgents` does not list. */
export const routesForUsers = (Object.entries(httpRoutes) as [RouteName, RouteSpec][])
  .filter(([name]) => !routesForAgents.includes(name))
  .map(([name, { method, path, body }]) => ({
    name,
    method,
    path,
    body: validBodies[name],
    lacksBody: body !== undefined && validBodies[name] === undefined,
  }));
