import type { OutgoingHttpHeaders } from 'node:http';

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';

import type { Deps } from '../deps.ts';
import { parseEventTypes, parseLastEventId } from '../domain/event-filter.ts';
import { validate } from '../domain/validate.ts';
import { streamEvents } from '../event-stream.ts';
import type { Admitted } from './routes.ts';
import { admission, disconnectSignal, refuseOtherMethods } from './routes.ts';

export const eventsPath = '/v1/events';
export const eventsQuery = z.strictObject({
  types: z
    .string()
    .max(2000)
    .optional()
    .describe('Comma list of event types, or of families such as `approval.*`; all when absent.'),
});

/** `GET /v1/events`: the caller's events as they happen, as Server-Sent Events. */
export async function eventRoute(app: FastifyInstance, deps: Deps): Promise<void> {
  app.get(
    eventsPath,
    { exposeHeadRoute: false, onRequest: admission(deps, 'approvals') },
    async (request, reply) => {
      const { types } = validate(eventsQuery, request.query, 'query');
      const { caller, credential, place } = request.admitted as Admitted;
      const reader = {
        types: parseEventTypes(types),
        after: parseLastEventId(request.headers['last-event-id']),
        caller,
        authenticate: () => deps.authenticator.authenticate(credential),
      };
      using _stream = deps.underWay.stream(caller.claims);
      place[Symbol.dispose]();
      // From here on the response is written by hand.
      const signal = disconnectSignal(reply);
      reply.hijack();
      reply.raw.writeHead(200, {
        ...(reply.getHeaders() as OutgoingHttpHeaders),
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      });
      await streamEvents(deps, { ...reader, signal, sink: reply.raw });
    },
  );
  refuseOtherMethods(app, [{ method: 'GET', url: eventsPath }], { head: false });
}
