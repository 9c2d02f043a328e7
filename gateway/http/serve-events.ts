import type { FastifyInstance } from 'fastify';
import { z } from 'zod';

import type { Deps } from '../deps.ts';
import { parseEventTypes, parseLastEventId } from '../events/domain/event-filter.ts';
import { validate } from '../input/domain/validate.ts';
import { streamEvents } from '../events/event-stream.ts';
import { admitCaller } from './admit-request.ts';
import type { AdmittedRequest } from './admit-request.ts';
import { refuseOtherMethods } from './refuse-other-methods.ts';
import { createDisconnectSignal, openEventStream } from './response.ts';

export const eventsPath = '/v1/events';
export const eventsQuery = z.strictObject({
  types: z
    .string()
    .max(2000)
    .optional()
    .describe('Comma list of event types, or of families such as `approval.*`; all when absent.'),
});

/** Serves `GET /v1/events`: the caller's events as Server-Sent Events. */
export async function serveEvents(app: FastifyInstance, deps: Deps): Promise<void> {
  app.get(
    eventsPath,
    { exposeHeadRoute: false, onRequest: admitCaller(deps, 'approvals') },
    async (request, reply) => {
      const { types } = validate(eventsQuery, request.query, 'query');
      const { caller, credential, slot } = request.admitted as AdmittedRequest;
      const reader = {
        types: parseEventTypes(types),
        after: parseLastEventId(request.headers['last-event-id']),
        caller,
        authenticate: () => deps.authenticator.authenticate(credential),
      };
      using _stream = deps.slots.stream(caller.claims);
      slot[Symbol.dispose]();
      const signal = createDisconnectSignal(reply);
      await streamEvents(deps, { ...reader, signal, sink: openEventStream(reply) });
    },
  );
  refuseOtherMethods(app, [{ method: 'GET', url: eventsPath }], { head: false });
}
