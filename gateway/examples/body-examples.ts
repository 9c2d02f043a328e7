import type { z } from 'zod';

import type { httpRoutes, RouteName } from '#contracts/all';
import { exampleCall, exampleIds, exampleKey, exampleTimes } from './example-call.ts';

type BodyOf<N extends RouteName> = (typeof httpRoutes)[N] extends { readonly body: infer B }
  ? B
  : never;
/** The routes that take a body. */
export type RouteWithBody = {
  [N in RouteName]: BodyOf<N> extends never ? never : N;
}[RouteName];
type BodyExamples = {
  readonly [N in RouteWithBody]: BodyOf<N> extends z.ZodType ? z.input<BodyOf<N>> : never;
};

const templateDocument = {
  openapi: '3.1.0',
  info: { title: 'Notes', key: 'notes', version: '1' },
  servers: [{ url: 'https://api.example.com/v1' }],
  paths: {
    '/notes': {
      get: {
        operationId: 'list_notes',
        summary: 'List the notes',
        responses: { 200: { description: 'The notes.' } },
      },
    },
  },
};

/** A valid body for each route that takes a body, with the fields that callers usually send. */
export const bodyExamples: BodyExamples = {
  updateIdentity: { name: 'inbox-helper', auto_call_on_approve: true },
  createAgent: { name: 'inbox-helper' },
  createSubagent: { name: 'summary', ttl: '7d' },
  createAgentKey: { name: 'Laptop', expires_at: exampleTimes.expires },
  createUser: { email: 'ben@example.com', role: 'member', name: 'ben' },
  inviteUser: { email: 'ben@example.com', role: 'member', name: 'ben' },
  changeUser: { role: 'auditor' },
  changeOrg: { approval_ttl_seconds: 86_400 },
  changeProfile: { display_name: 'Ann Example' },
  signIn: { email: 'ann@example.com', password: 'correct horse battery staple' },
  putSignInProvider: {
    name: 'Example accounts',
    issuer: 'https://accounts.example.com',
    client_id: 'gateway',
    client_secret: 'client-secret-of-the-provider',
    allowed_email_domains: ['example.com'],
  },
  updateMcpConnection: { self_approve_enabled: false },
  createSecret: {
    name: 'github_token',
    value: 'value-of-the-token',
    description: 'May read and write issues',
    allowed_hosts: ['api.github.com'],
  },
  updateSecret: { allowed_hosts: ['api.github.com'] },
  requestSecret: {
    name: 'github_token',
    reason: 'To create issues for you',
    allowed_hosts: ['api.github.com'],
  },
  provideSecret: { value: 'value-of-the-token', allowed_hosts: ['api.github.com'] },
  createConnection: { template: 'github', name: 'github' },
  putOauthApp: { client_id: 'client-id-of-the-app', client_secret: 'client-secret-of-the-app' },
  createRequest: {
    kind: 'service',
    template: 'github',
    actions: ['create_issue'],
    reason: 'To create issues for you',
  },
  declineRequest: { reason: 'Use the service of the org' },
  createService: {
    template: 'github',
    name: 'github',
    credentials: { secrets: { token: 'github_token' } },
  },
  updateService: { auto_allow_reads: true },
  upgradeService: { version: 2, dry_run: true },
  acceptServiceTool: { hash: 'f'.repeat(64) },
  createTemplate: { openapi: templateDocument, tier: 'user' },
  validateTemplate: { openapi: templateDocument },
  updateTemplate: { openapi: templateDocument, version: 1 },
  publishTemplate: { version: 2 },
  importTemplate: {
    source: { url: 'https://api.example.com/openapi.json' },
    key: 'notes',
    include_operations: ['list_notes'],
  },
  startUpload: { text: '{"openapi":"3.1.0","info":{' },
  continueUpload: { text: '"title":"Notes","version":"1"},"paths":{}}', offset: 27 },
  callAction: exampleCall,
  callConnection: { connection: 'github', method: 'GET', url: 'https://api.github.com/user' },
  validateAction: exampleCall,
  resolveApproval: {
    resolution: 'allow_remember',
    remember_keys: [exampleKey],
    ttl: '30d',
  },
  createRule: {
    identity_id: exampleIds.agent,
    effect: 'allow',
    pattern: 'github:create_issue:*',
  },
  createWebhook: { url: 'https://hooks.example.com/gateway', events: ['approval.*'] },
};
