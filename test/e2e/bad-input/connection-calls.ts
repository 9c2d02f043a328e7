import { created } from '../support/world.ts';
import type { BadInput, Scene } from './scene.ts';

const path = '/v1/actions/http';
const through = (body: object) => (scene: Scene) =>
  scene.admin.post(path, { connection: 'none', method: 'GET', url: 'https://a.example/', ...body });
const shape = { status: 400, error: 'invalid_request' };

/** Calls with accounts, and services that are to use one. */
export const badConnectionCalls: BadInput[] = [
  {
    what: 'a call through no connection',
    send: ({ bot }) => bot.post(path, { method: 'GET', url: 'https://a.example/' }),
    ...shape,
    tells: /"path":"connection"/,
  },
  {
    what: 'a call through a connection to no URL',
    send: ({ bot }) => bot.post(path, { connection: 'none', method: 'GET' }),
    ...shape,
    tells: /"path":"url"/,
  },
  {
    what: 'a call through a connection to a path',
    send: through({ url: '/user' }),
    ...shape,
    tells: /full URL/,
  },
  {
    what: 'a connection name that cannot be one',
    send: through({ connection: 'My Account' }),
    ...shape,
    tells: /"path":"connection"/,
  },
  ...['service', 'action', 'params', 'path', 'secrets', 'approval_id'].map((field) => ({
    what: `a call through a connection with ${field}`,
    send: through({ [field]: 'x' }),
    ...shape,
    tells: new RegExp(`"path":"${field}"`),
  })),
  {
    what: 'a dry run with a connection and a service',
    send: ({ bot }) =>
      bot.post('/v1/actions/validate', {
        connection: 'none',
        method: 'GET',
        url: 'https://a.example/',
        service: 'http',
      }),
    ...shape,
    tells: /"path":"service"/,
  },
  {
    what: 'a call through a connection that is not there, and names it',
    send: through({}),
    status: 424,
    error: 'credential_missing',
    tells: /"connection":"none"/,
  },
  {
    what: 'a service with a connection where none is taken',
    send: ({ admin }) =>
      admin.post('/v1/services', { template: 'sendgrid', credentials: { connection: 'none' } }),
    status: 400,
    error: 'invalid_params',
    tells: /credentials\.connection/,
  },
  {
    what: 'other credentials for a service that are none',
    send: ({ admin }) => admin.patch('/v1/services/org%2Fgithub', { credentials: {} }),
    ...shape,
    tells: /secrets or a connection/,
  },
];

/** Made for the case, and not complete when the call arrives. */
export const earlyConnectionCalls: BadInput[] = [
  {
    what: 'a call through a connection that nobody has completed, and tells where that is done',
    send: async (scene) => {
      const wish = { provider: 'github', name: 'waiting' };
      created(await scene.admin.post('/v1/connections', wish));
      return through({ connection: 'waiting', url: 'https://api.github.com/user' })(scene);
    },
    status: 424,
    error: 'needs_authentication',
    tells: /"auth_url":"[^"]+\/connect\//,
  },
];
