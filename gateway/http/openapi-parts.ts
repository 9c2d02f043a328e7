/** The tags of the OpenAPI document, in the document's order. */
export const tags: Readonly<Record<string, string>> = {
  Identities: 'Users, agents, subagents and their keys.',
  Users: 'Who may sign in, and as what.',
  Profile: 'The own account of a person who is signed in.',
  Org: 'What holds for everybody in the org.',
  'Sign-in': 'Sessions, and the ways to open one.',
  'OAuth clients': 'Programs that act as agents, and what they may decide by themselves.',
  Secrets: 'The vault: values go in and are never returned.',
  Connections: 'Access to accounts at OAuth providers, and the apps it is asked for with.',
  Requests: 'What agents and users ask people for.',
  Services: 'Connected third-party APIs, and finding what they can do.',
  Templates: 'What can be connected: built in, of the org, of a user.',
  Actions: 'Calling third-party APIs.',
  Approvals: 'Calls that wait for a person.',
  Rules: 'What is allowed and denied without asking.',
  Webhooks: 'Signed notifications to your own endpoints.',
  Audit: 'The append-only record of everything that happened.',
  Events: 'What happens, as it happens.',
  Status: 'Health, and this document.',
};

export const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An access token or an agent key.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-gateway_session',
    description:
      'The dashboard session (`gateway_session` on loopback http). Unsafe methods also need our own `Origin`.',
  },
};

export const sharedHeaders = {
  RequestId: {
    description: 'Names this request in logs, traces and the audit log.',
    schema: { type: 'string', format: 'uuid' },
  },
  RetryAfter: {
    description: 'Seconds after which to try again.',
    schema: { type: 'integer', minimum: 1 },
  },
};
export const requestIdHeader = { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } };

export const callHeaders = [
  {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: 'The same key, caller and body within 24 hours give the first answer again.',
    schema: { type: 'string', minLength: 1, maxLength: 200 },
  },
  {
    name: 'Prefer',
    in: 'header',
    required: false,
    description:
      '`wait=N`: hold the answer of a suspended call until it is decided and replayed, at most N (60) seconds.',
    schema: { type: 'string', maxLength: 100 },
  },
];
