import type { FastifyInstance, FastifyReply } from 'fastify';
import { v7 as uuidv7 } from 'uuid';

import { isClientProblem, readClientMetadata } from '../oauth-clients/domain/oauth-client.ts';
import { insertOauthClient } from '../oauth-clients/oauth-clients.sql.ts';
import type { OauthDeps } from './deps.ts';
import { oauthPaths } from './paths.ts';

/**
 * The maximum number of registered clients that no user has authorized yet. Each is deleted after a day
 * (docs/reference/identities.md#oauth-clients).
 */
const waitingClientsMax = 10_000;
const bodyBytesMax = 16 * 1024;

/**
 * Registers clients by RFC 7591. Anybody may register a client. All clients are public, without a
 * secret.
 */
export function registerRegistrationRoute(
  app: FastifyInstance,
  { db, logger, redirectSchemes }: OauthDeps,
): void {
  app.post(oauthPaths.register, { bodyLimit: bodyBytesMax }, async (request, reply) => {
    const { body } = request;
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      return refuseRegistration(
        reply,
        400,
        'invalid_client_metadata',
        'Send client metadata as JSON object.',
      );
    }
    const fields = readClientMetadata(body as Record<string, unknown>, redirectSchemes);
    if (isClientProblem(fields))
      return refuseRegistration(reply, 400, fields.error, fields.description);

    const id = uuidv7();
    if (!(await insertOauthClient(db, { id, ...fields, waitingMax: waitingClientsMax }))) {
      logger.warn('no more clients are registered: too many wait for a first authorization');
      void reply.header('retry-after', '3600');
      return refuseRegistration(
        reply,
        503,
        'temporarily_unavailable',
        'Too many clients; try again later.',
      );
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

function refuseRegistration(
  reply: FastifyReply,
  status: number,
  error: string,
  description: string,
) {
  return reply.code(status).send({ error, error_description: description });
}
