import { created, until } from '../support/world.ts';
import { costly } from './stage.testing.ts';
import type { Entry, Stage } from './stage.testing.ts';

const documentOf = (key: string, server: string) => `openapi: 3.1.0
info: { title: ${key}, key: ${key} }
servers: [{ url: ${JSON.stringify(server)} }]
paths:
  /redirect/{room}:
    get:
      operationId: get_room
      summary: Get room {room}
      parameters: [{ name: room, in: path, required: true, schema: { type: string } }]
  /redirect/{room}/file:
    get:
      operationId: download_room
      summary: Download room {room}
      response_type: binary
      parameters: [{ name: room, in: path, required: true, schema: { type: string } }]
  /redirect/{room}/notes:
    post:
      operationId: create_note
      summary: Write into {room}
      parameters:
        - name: room
          in: path
          required: true
          schema: { type: string }
          x-service-resolve: { get: '/redirect/{room}', pick: name }
`;
const options = { timeout_ms: 3_000 };

/** Calls of agents and people, and what services make of them. */
export async function callEntries(stage: Stage): Promise<Entry[]> {
  const { admin, agent, site } = stage;
  const template = 'forbidden';
  const { publish, connect, passing, passingTemplate } = createServices(stage, 's');
  const document = documentOf(template, 'https://api.example.com');
  if (!(await publish(template, document))) throw new Error('no template');
  const telling = await connect(template, { base_url: site.origin });
  if (telling === undefined) throw new Error('no service');

  const read = (service: string, action: string, room: string) =>
    admin.post('/v1/actions/call', { service, action, params: { room }, ...options });
  const lookUp = async (service: string, room: string) => {
    const asked = { service, action: 'create_note', params: { room }, ...options };
    const answer = await agent.post('/v1/actions/call', asked);
    // What is refused without a look-up is never asked of a person.
    if (answer.body.error === 'upstream_refused_address') return;
    const { approval_id: id } = created(answer);
    // So many may be open, and no more are looked at.
    await agent.post(`/v1/approvals/${id}/cancel`, {});
  };
  const raw = (url: string) => ({ service: 'http', method: 'GET', path: url, ...options });
  const roomOf = (url: string) => site.at('redirect', url).split('/').at(-1) ?? '';

  return [
    {
      name: 'a raw call',
      oneOf: 7,
      attempt: (url) => admin.post('/v1/actions/call', raw(url)),
    },
    {
      name: 'a redirect of a raw call',
      ...costly,
      isNeverCalled: true,
      attempt: (url) => admin.post('/v1/actions/call', raw(site.at('redirect', url))),
    },
    {
      name: 'a call that was approved',
      ...costly,
      atOnce: 16,
      async attempt(url) {
        const { status, body } = await agent.post('/v1/actions/call', raw(url));
        if (status > 299) return;
        const approval = `/v1/approvals/${body.approval_id}`;
        created(await admin.post(`${approval}/resolve`, { resolution: 'allow' }));
        await until(async () => {
          const { execution } = created(await admin.get(approval));
          return ['executed', 'failed'].includes(execution?.status);
        }, 'the replay to end');
      },
    },
    {
      name: 'the base URL of a service',
      ...costly,
      attempt: (url) =>
        passing({ template, base_url: url }, (service) => read(service, 'get_room', 'a')),
    },
    {
      name: 'a redirect of a read',
      ...costly,
      isNeverCalled: true,
      attempt: (url) => read(telling, 'get_room', roomOf(url)),
    },
    {
      name: 'a redirect of a download',
      ...costly,
      attempt: (url) => read(telling, 'download_room', roomOf(url)),
    },
    {
      name: 'a look-up of names for an approver',
      ...costly,
      attempt: (url) => passing({ template, base_url: url }, (service) => lookUp(service, 'a')),
    },
    {
      name: 'a redirect of a look-up of names',
      ...costly,
      isNeverCalled: true,
      attempt: (url) => lookUp(telling, roomOf(url)),
    },
    {
      name: 'the server of a template',
      ...costly,
      attempt: (url) =>
        passingTemplate(
          (key) => documentOf(key, url),
          (service) => read(service, 'get_room', 'a'),
        ),
    },
  ];
}

/** Templates and services of the org: of each there may be so many at a time. */
export function createServices({ admin }: Stage, prefix: string) {
  let count = 0;
  /** False where the template is refused. */
  const publish = async (key: string, openapi: string): Promise<boolean> => {
    const { status, body } = await admin.post('/v1/templates', { openapi, tier: 'org' });
    if (status > 299) return false;
    const path = `/v1/templates/${key}/publish?tier=org`;
    return (await admin.post(path, { version: body.version })).status < 300;
  };
  /** Its name; undefined where it is refused. */
  const connect = async (template: string, more: object = {}): Promise<string | undefined> => {
    const name = `${prefix}${(count += 1)}`;
    const body = { template, name, tier: 'org', auto_allow_reads: true, ...more };
    return (await admin.post('/v1/services', body)).status < 300 ? `org/${name}` : undefined;
  };
  /** Uses a service, if there comes to be one, and disconnects it again. */
  const passing = async (
    { template, ...more }: { template: string; base_url?: string },
    use: (service: string) => Promise<unknown>,
  ): Promise<void> => {
    const service = await connect(template, more);
    if (service === undefined) return;
    try {
      await use(service);
    } finally {
      await admin.delete(`/v1/services/${encodeURIComponent(service)}`);
    }
  };
  /** The same of a template that is made for it. */
  const passingTemplate = async (
    documentOf: (key: string) => string,
    use: (service: string) => Promise<unknown>,
  ): Promise<void> => {
    const template = `${prefix}-template${(count += 1)}`;
    if (!(await publish(template, documentOf(template)))) return;
    try {
      await passing({ template }, use);
    } finally {
      await admin.delete(`/v1/templates/${template}?tier=org`);
    }
  };
  return { publish, connect, passing, passingTemplate };
}
