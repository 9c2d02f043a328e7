import type { FastifyInstance, FastifyReply } from 'fastify';
import { v7 as uuidv7 } from 'uuid';

import { isClientProblem, readClientMetadata } from '../domain/oauth-client.ts';
import { insertOauthClient } from '../repository/oauth-clients.ts';
import type { OauthDeps } from './deps.ts';
import { paths } from './paths.ts';

/**
 * Registered clients that nobody has let in yet. Each is removed after a day
 * (docs/reference/identities.md#oauth-clients).
 */
const waitingClientsMax = 10_000;
const bodyLimit = 16 * 1024;

/** RFC 7591, open to everybody, for public clients alone: no secret is ever made. */
export function registerRegistration(app: FastifyInstance, { db, logger }: OauthDeps): void {
  app.post(paths.register, { bodyLimit }, async (request, reply) => {
    const { body } = request;
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      return refuse(reply, 400, 'invalid_client_metadata', 'Send client metadata as JSON object.');
    }
    const fields = readClientMetadata(body as Record<string, unknown>);
    if (isClientProblem(fields)) return refuse(reply, 400, fields.error, fields.description);

    const id = uuidv7();
    if (!(await insertOauthClient(db, { id, ...fields, waitingMax: waitingClientsMax }))) {
      logger.warn('no more clients are registered: too many wait for a first authorization');
      void reply.header('retry-after', '3600');
      return refuse(reply, 503, 'temporarily_unavailable', 'Too many clients; try again later.');
    }
    logger.info({ clientId: id, softwareId: fields.softwareId }, 'client registered');
    return reply.code(201).send({
      client_id: id,
      client_id_issued_at: Math.floor(Date.now() / 1000),
      client_name: fields.name,
      ...(fields.softwareId === null ? {} : { software_id: fields.softwareId }),
      redirect_uris: fields.redirectUris,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    });
  });
}

function refuse(reply: FastifyReply, status: number, error: string, description: string) {
  return reply.code(status).send({ error, error_description: description });
}
