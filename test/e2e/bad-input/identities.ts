import { randomUUID } from 'node:crypto';

import type { BadInput, Scene } from './scene.ts';

const changeIdentity = (body: object) => (scene: Scene) =>
  scene.admin.patch(`/v1/identities/${scene.bot.id}`, body);
const encodeClientId = (id: string) => encodeURIComponent(id);
const invalid = { status: 400, error: 'invalid_request' };
const forbidden = { status: 403, error: 'forbidden' };
const insufficientScope = { status: 403, error: 'insufficient_scope', tells: /user/ };
const missing = { status: 404, error: 'not_found' };

/**
 * Changes of identities and OAuth clients that are invalid, or that the caller has no right to
 * make.
 */
export const badIdentities: BadInput[] = [
  { what: 'an empty change', send: changeIdentity({}), ...invalid },
  { what: 'a new parent by PATCH', send: changeIdentity({ parent_id: randomUUID() }), ...invalid },
  { what: 'a status by PATCH', send: changeIdentity({ status: 'active' }), ...invalid },
  {
    what: 'an owner by PATCH, and names the field',
    send: changeIdentity({ owner_id: randomUUID() }),
    ...invalid,
    tells: /"path":"owner_id"/,
  },
  {
    what: 'a name with capitals',
    send: changeIdentity({ name: 'Bot' }),
    ...invalid,
    tells: /lower-case/,
  },
  { what: 'a reserved name', send: changeIdentity({ name: 'org' }), ...invalid, tells: /reserved/ },
  { what: 'a name of 64 characters', send: changeIdentity({ name: 'a'.repeat(64) }), ...invalid },
  { what: 'a name of null', send: changeIdentity({ name: null }), ...invalid },
  {
    what: 'an expiry without a time zone',
    send: changeIdentity({ expires_at: '2100-01-01T00:00:00' }),
    ...invalid,
  },
  ...['0000-01-01T00:00:00Z', '0001-01-01T00:00:00+02:00', '9999-12-31T23:59:59-02:00'].map(
    (time) => ({
      what: `an expiry at the impossible time ${time}`,
      send: changeIdentity({ expires_at: time }),
      ...invalid,
      tells: /in the years 1 to 9999/,
    }),
  ),
  {
    what: 'an expiry in the past',
    send: changeIdentity({ expires_at: '2020-01-01T00:00:00Z' }),
    status: 400,
    error: 'invalid_params',
    tells: /future/,
  },
  {
    what: 'inheritance for an agent without a parent',
    send: changeIdentity({ inherit_permissions: true }),
    status: 400,
    error: 'invalid_params',
    tells: /subagent/,
  },
  {
    what: 'a change of a user as if it were an agent',
    send: ({ admin, member }) => admin.patch(`/v1/identities/${member.id}`, { name: 'mallory' }),
    ...forbidden,
  },
  {
    what: 'an agent that changes itself',
    send: ({ bot }) => bot.patch(`/v1/identities/${bot.id}`, { auto_call_on_approve: false }),
    ...forbidden,
  },
  {
    what: 'an agent that archives itself',
    send: ({ bot }) => bot.post(`/v1/identities/${bot.id}/archive`),
    ...forbidden,
  },
  {
    what: 'an agent that archives its user',
    send: ({ bot, admin }) => bot.post(`/v1/identities/${admin.id}/archive`),
    ...missing,
  },
  {
    what: 'a colleague who archives an agent',
    send: ({ member, bot }) => member.post(`/v1/identities/${bot.id}/archive`),
    ...missing,
  },
  {
    what: 'archiving the last admin',
    send: ({ admin }) => admin.post(`/v1/identities/${admin.id}/archive`),
    ...forbidden,
    tells: /last admin/,
  },
  {
    what: 'a body for an archive',
    send: ({ admin, bot }) => admin.post(`/v1/identities/${bot.id}/archive`, { for: 'now' }),
    ...invalid,
  },
  {
    what: 'restoring an identity that does not exist',
    send: ({ admin }) => admin.post(`/v1/identities/${randomUUID()}/restore`),
    ...missing,
  },
  {
    what: 'an agent that lists OAuth clients',
    send: ({ bot }) => bot.get('/v1/oauth/clients'),
    ...insufficientScope,
  },
  {
    what: 'a member who lists OAuth clients',
    send: ({ member }) => member.get('/v1/oauth/clients'),
    ...forbidden,
  },
  {
    what: 'blocking an unknown client whose id is a URL',
    send: ({ admin }) =>
      admin.post(
        `/v1/oauth/clients/${encodeClientId('https://app.example/a%20b/../c.json?x=1#y')}/revoke`,
      ),
    ...missing,
  },
  {
    what: 'a client id whose slashes are not encoded',
    send: ({ admin }) => admin.post('/v1/oauth/clients/https://app.example/client.json/revoke'),
    ...missing,
  },
  {
    what: 'a client id of more than 500 characters',
    send: ({ admin }) => admin.post(`/v1/oauth/clients/${'a'.repeat(501)}/revoke`),
    ...invalid,
  },
  {
    what: 'a client id with a NUL',
    send: ({ admin }) => admin.post('/v1/oauth/clients/a%00b/revoke'),
    ...invalid,
  },
  {
    what: 'an agent that looks for its own clients',
    send: ({ bot }) => bot.get(`/v1/identities/${bot.id}/mcp-connections`),
    ...insufficientScope,
  },
  {
    what: "an admin who looks for the clients of a colleague's agent",
    send: ({ admin, other }) => admin.get(`/v1/identities/${other.id}/mcp-connections`),
    ...missing,
  },
  {
    what: 'the self-approval switch of an unbound client',
    send: ({ admin, bot }) =>
      admin.patch(
        `/v1/identities/${bot.id}/mcp-connections/${encodeClientId('https://a.example/c')}`,
        {
          self_approve_enabled: true,
        },
      ),
    ...missing,
  },
  {
    what: 'a self-approval switch that is neither on nor off',
    send: ({ admin, bot }) =>
      admin.patch(`/v1/identities/${bot.id}/mcp-connections/${randomUUID()}`, {
        self_approve_enabled: 'yes',
      }),
    ...invalid,
  },
  {
    what: 'a new agent for an existing MCP connection',
    send: ({ admin, bot }) =>
      admin.patch(`/v1/identities/${bot.id}/mcp-connections/${randomUUID()}`, {
        self_approve_enabled: true,
        agent_id: randomUUID(),
      }),
    ...invalid,
    tells: /"path":"agent_id"/,
  },
];
