import type { AddressInfo } from 'node:net';

import Fastify from 'fastify';
import type { FastifyInstance, FastifyReply } from 'fastify';

import { createBoards } from './boards.ts';
import type { Notes } from './boards.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The notes of the key with which the request was sent. */
    notes: Notes;
  }
}

export interface RunningSample extends AsyncDisposable {
  /** The address of the notice board, such as `http://127.0.0.1:21844`. */
  readonly url: string;
}

const bodyBytesMax = 16 * 1024;
const boardName = { type: 'string', pattern: '^[a-z][a-z0-9-]{0,31}$' };
const noteText = { type: 'string', minLength: 1, maxLength: 500 };
const noteId = { type: 'integer', minimum: 1, maximum: 999_999 };
const noteParams = { type: 'object', properties: { id: noteId } };
const boardParams = { type: 'object', properties: { board: boardName } };
const newNote = {
  type: 'object',
  required: ['board', 'text'],
  properties: { board: boardName, text: noteText },
};
const changedNote = { type: 'object', required: ['text'], properties: { text: noteText } };

/**
 * Starts the notice board on loopback. It is an upstream like any other: callers bring a bearer
 * key, and each key has notes of its own. The notes are kept in memory.
 */
export async function startSample({ port }: { port: number }): Promise<RunningSample> {
  const app = Fastify({ bodyLimit: bodyBytesMax, forceCloseConnections: true });
  const boards = createBoards();
  app.decorateRequest('notes');
  app.addHook('onRequest', async (request, reply) => {
    const { authorization = '', host } = request.headers;
    // A page of another site could reach this port under a host name of that site.
    if (host !== `127.0.0.1:${request.socket.localPort}`) {
      return reply.code(421).send({ message: 'This address is not the notice board.' });
    }
    const [, key] = /^Bearer (nb_[A-Za-z0-9_-]{16,128})$/.exec(authorization) ?? [];
    if (key === undefined) {
      return reply
        .code(401)
        .send({ message: 'Send a key that begins with nb_ as a bearer token.' });
    }
    request.notes = boards.of(key);
  });
  addRoutes(app);
  await app.listen({ host: '127.0.0.1', port });
  const { port: ownPort } = app.server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${ownPort}`,
    async [Symbol.asyncDispose]() {
      await app.close();
    },
  };
}

function addRoutes(app: FastifyInstance): void {
  app.get<{ Querystring: { board?: string } }>(
    '/notes',
    { schema: { querystring: boardParams } },
    async ({ notes, query }) => ({ notes: notes.list(query.board) }),
  );
  app.post<{ Body: { board: string; text: string } }>(
    '/notes',
    { schema: { body: newNote } },
    async ({ notes, body }, reply) => {
      const note = notes.pin(body);
      if (note === undefined) {
        return reply.code(409).send({
          message:
            'There is no room for another note: remove one, or restart the gateway, which empties all boards.',
        });
      }
      return reply.code(201).send(note);
    },
  );
  app.patch<{ Params: { id: number }; Body: { text: string } }>(
    '/notes/:id',
    { schema: { params: noteParams, body: changedNote } },
    async ({ notes, params, body }, reply) => notes.edit(params.id, body.text) ?? sendNoNote(reply),
  );
  app.delete<{ Params: { id: number } }>(
    '/notes/:id',
    { schema: { params: noteParams } },
    async ({ notes, params }, reply) =>
      notes.remove(params.id) ? reply.code(204).send() : sendNoNote(reply),
  );
  app.get<{ Params: { board: string } }>(
    '/boards/:board/export',
    { schema: { params: boardParams } },
    async ({ notes, params }, reply) =>
      reply
        .header('content-type', 'text/csv; charset=utf-8')
        .header('content-disposition', `attachment; filename="${params.board}.csv"`)
        .send(notes.exportCsv(params.board)),
  );
}

function sendNoNote(reply: FastifyReply): FastifyReply {
  return reply.code(404).send({ message: 'There is no such note; list the notes again.' });
}
