import { successfulBodyOf } from '../../support/world.ts';
import type { BadInput, Scene } from './scene.ts';

const path = '/v1/actions/http';
const callThrough = (body: object) => (scene: Scene) =>
  scene.admin.post(path, { connection: 'none', method: 'GET', url: 'https://a.example/', ...body });
const invalidRequest = { status: 400, error: 'invalid_request' };

/** Invalid calls through a connection, and invalid connections of services. */
export const badConnectionCalls: BadInput[] = [
  {
    what: 'a call without the name of a connection',
    send: ({ bot }) => bot.post(path, { method: 'GET', url: 'https://a.example/' }),
    ...invalidRequest,
    tells: /"path":"connection"/,
  },
  {
    what: 'a call through a connection without a URL',
    send: ({ bot }) => bot.post(path, { connection: 'none', method: 'GET' }),
    ...invalidRequest,
    tells: /"path":"url"/,
  },
  {
    what: 'a call through a connection with a path instead of a full URL',
    send: callThrough({ url: '/user' }),
    ...invalidRequest,
    tells: /full URL/,
  },
  {
    what: 'an invalid connection name',
    send: callThrough({ connection: 'My Account' }),
    ...invalidRequest,
    tells: /"path":"connection"/,
  },
  ...['service', 'action', 'params', 'path', 'secrets', 'approval_id'].map((field) => ({
    what: `a call through a connection with ${field}`,
    send: callThrough({ [field]: 'x' }),
    ...invalidRequest,
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
    ...invalidRequest,
    tells: /"path":"service"/,
  },
  {
    what: 'a call through a connection that does not exist, and names the connection',
    send: callThrough({}),
    status: 424,
    error: 'credential_missing',
    tells: /"connection":"none"/,
  },
  {
    what: 'a service with a connection that its template does not use',
    send: ({ admin }) =>
      admin.post('/v1/services', { template: 'sendgrid', credentials: { connection: 'none' } }),
    status: 400,
    error: 'invalid_params',
    tells: /credentials\.connection/,
  },
  {
    what: 'invalid credentials for a service',
    send: ({ admin }) => admin.patch('/v1/services/org%2Fgithub', { credentials: {} }),
    ...invalidRequest,
    tells: /secrets or a connection/,
  },
];

/** Each case creates a connection that its owner has not completed, and sends a call through it. */
export const earlyConnectionCalls: BadInput[] = [
  {
    what: 'a call through an uncompleted connection, and says where to complete it',
    send: async (scene) => {
      const connectionRequest = { provider: 'github', name: 'waiting' };
      successfulBodyOf(await scene.admin.post('/v1/connections', connectionRequest));
      return callThrough({ connection: 'waiting', url: 'https://api.github.com/user' })(scene);
    },
    status: 424,
    error: 'needs_authentication',
    tells: /"auth_url":"[^"]+\/connect\//,
  },
];
