import type { Caller } from '../../support/http.ts';
import { created } from '../support/world.ts';

/** A way in which a URL of somebody's choice can be brought to be called. */
export interface Entry {
  readonly name: string;
  /** Of how many URLs one is tried when not all are. */
  readonly oneOf: number;
  /** How many attempts may be made at a time. */
  readonly atOnce?: number;
  /** Does all that it takes for the product to call the URL, if it ever does. What it answers is of no matter. */
  attempt(url: string): Promise<unknown>;
}

interface Callers {
  readonly admin: Caller;
  readonly agent: Caller;
  /** Without any credential, as a browser or an OAuth client. */
  readonly anybody: Caller;
}

const template = 'forbidden';
const documentOf = (key: string, server: string) => `openapi: 3.1.0
info: { title: ${key}, key: ${key} }
servers: [{ url: ${JSON.stringify(server)} }]
paths:
  /rooms/{room}:
    get:
      operationId: get_room
      summary: Get room {room}
      parameters: [{ name: room, in: path, required: true, schema: { type: string } }]
  /rooms/{room}/notes:
    post:
      operationId: create_note
      summary: Write into {room}
      parameters:
        - name: room
          in: path
          required: true
          schema: { type: string }
          x-service-resolve: { get: '/rooms/{room}', pick: name }
`;

/** What `test/e2e/forbidden-urls` goes through; a new way to have a URL called belongs here. */
export async function entriesOf({ admin, agent, anybody }: Callers): Promise<Entry[]> {
  let count = 0;
  const next = () => (count += 1);
  const publish = async (key: string, server: string) => {
    const saved = await admin.post('/v1/templates', {
      openapi: documentOf(key, server),
      tier: 'org',
    });
    if (saved.status > 299) return false;
    return (await admin.post(`/v1/templates/${key}/publish?tier=org`, { version: 1 })).status < 300;
  };
  if (!(await publish(template, 'https://api.example.com'))) throw new Error('no template');
  const connect = async (of: string, more: object) => {
    const name = `s${next()}`;
    const body = { template: of, name, tier: 'org', auto_allow_reads: true, ...more };
    return (await admin.post('/v1/services', body)).status < 300 ? name : undefined;
  };
  const call = { timeout_ms: 3_000 };
  const room = { params: { room: 'a' } };

  return [
    {
      name: 'a raw call',
      oneOf: 8,
      attempt: (url) =>
        admin.post('/v1/actions/call', { service: 'http', method: 'GET', path: url, ...call }),
    },
    {
      name: 'the base URL of a service',
      oneOf: 80,
      async attempt(url) {
        const service = await connect(template, { base_url: url });
        if (service === undefined) return;
        await admin.post('/v1/actions/call', { service, action: 'get_room', ...room, ...call });
        await admin.delete(`/v1/services/${service}`);
      },
    },
    {
      name: 'a look-up of names for an approver',
      oneOf: 80,
      async attempt(url) {
        const service = await connect(template, { base_url: url });
        if (service === undefined) return;
        const asked = { service, action: 'create_note', ...room, ...call };
        const { approval_id: id } = created(await agent.post('/v1/actions/call', asked));
        // So many may be open, and no more are looked at.
        await agent.post(`/v1/approvals/${id}/cancel`, {});
        await admin.delete(`/v1/services/${service}`);
      },
    },
    {
      name: 'the server of a template',
      oneOf: 120,
      async attempt(url) {
        const key = `t${next()}`;
        const service = (await publish(key, url)) ? await connect(key, {}) : undefined;
        if (service === undefined) return;
        await admin.post('/v1/actions/call', { service, action: 'get_room', ...room, ...call });
      },
    },
    {
      name: 'the import of a template',
      oneOf: 80,
      atOnce: 2,
      attempt: (url) => admin.post('/v1/templates/import', { source: { url } }),
    },
    {
      name: 'a webhook',
      oneOf: 120,
      async attempt(url) {
        const reply = await admin.post('/v1/webhooks', { url });
        if (reply.status > 299) return;
        const { id } = created(reply);
        // The handshake leaves behind the answer.
        for (let round = 0; round < 100; round += 1) {
          const { body } = await admin.get(`/v1/webhooks/${id}/deliveries`);
          if (body.items[0]?.attempts > 0) break;
          await new Promise((resolve) => setTimeout(resolve, 30));
        }
        await admin.delete(`/v1/webhooks/${id}`);
      },
    },
    {
      name: 'a sign-in provider',
      oneOf: 80,
      atOnce: 1, // All have the same key.
      async attempt(url) {
        const issuer = { name: 'Somebody', issuer: url, client_id: 'x' };
        const reply = await admin.put('/v1/sign-in-providers/somebody', issuer);
        if (reply.status > 299) return;
        await anybody.get('/sign-in/with/somebody');
      },
    },
    ...(['issuer', 'mcp_server'] as const).map((field) => ({
      name: `the ${field} of an OAuth provider`,
      oneOf: 80,
      attempt(url: string) {
        const definition = { title: 'Own', hosts: ['api.example.com'], [field]: url };
        return admin.put(`/v1/oauth-apps/p${next()}`, { client_id: 'x', definition });
      },
    })),
    {
      name: 'an MCP server',
      oneOf: 80,
      async attempt(url) {
        const key = `m${next()}`;
        const openapi = `openapi: 3.1.0
info: { title: ${key}, key: ${key} }
runtime: mcp
mcp: { url: ${JSON.stringify(url)}, auth: none }
`;
        const saved = await admin.post('/v1/templates', { openapi, tier: 'org' });
        if (saved.status > 299) return;
        await admin.post(`/v1/templates/${key}/publish?tier=org`, { version: 1 });
        await connect(key, {});
      },
    },
    {
      name: 'the id of an OAuth client',
      oneOf: 40,
      attempt(url) {
        const query = new URLSearchParams({
          client_id: url,
          response_type: 'code',
          redirect_uri: 'http://127.0.0.1:1/callback',
          code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
          code_challenge_method: 'S256',
          state: 'x',
        });
        return admin.get(`/oauth/authorize?${query.toString()}`);
      },
    },
  ];
}
