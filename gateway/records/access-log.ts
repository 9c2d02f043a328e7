import type { FastifyReply, FastifyRequest } from 'fastify';

import { errorCodes } from '#errors';
import { areMetricsOn, recordDuration, startDuration, toKnownMethod } from '#telemetry';
import type { Logger } from '#telemetry';
import type { Outcome } from './call-report.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * How the request ended: the code of an error, or the outcome of a call. Written to the log.
     */
    outcome: Outcome | null;
  }
}

/** Which requests have a line in the log; `errors` means those that ended with an error. */
export type LoggedRequests = 'off' | 'errors' | 'all';

export interface AccessLog {
  /** Logs the request when its answer has been sent or its client has disconnected. */
  watch(request: FastifyRequest, reply: FastifyReply): void;
  /**
   * Notes the outcome of a call, because its request is answered with status 200 even if the call
   * failed.
   */
  note(requestId: string, outcome: Outcome): void;
}

/**
 * Writes one line per request, and records how long the request took. Nothing in the line is copied
 * from the request's URL, headers or body: the route is the pattern of the matched route, and the
 * ids come from auth. Health checks have no line.
 */
export function createAccessLog(
  loggedRequests: LoggedRequests,
  logger: Pick<Logger, 'info'>,
): AccessLog {
  if (loggedRequests === 'off' && !areMetricsOn()) return { watch() {}, note() {} };
  const openRequests = new Map<string, FastifyRequest>();
  return {
    watch(request, reply) {
      const route = request.routeOptions.url ?? null;
      if (route?.startsWith('/health/') === true) return;
      const startedAt = performance.now();
      const measuredFrom = startDuration();
      const { socket } = request.raw;
      const bytesBefore = socket.bytesWritten;
      openRequests.set(request.id, request);
      reply.raw.once('close', () => {
        openRequests.delete(request.id);
        const { statusCode, headersSent } = reply.raw;
        const status = headersSent ? statusCode : null;
        const outcome = request.outcome ?? (headersSent ? null : 'client_gone');
        recordDuration('http.server.request.duration', measuredFrom, {
          'http.request.method': toKnownMethod(request.method),
          'http.route': route ?? '',
          'http.response.status_code': status ?? 0,
          'error.type': outcome !== null && isErrorOutcome(outcome) ? outcome : '',
        });
        if (loggedRequests === 'off') return;
        if (loggedRequests === 'errors' && !isError(status, outcome)) return;
        const { orgId = null, identityId = null } = request.caller?.claims ?? {};
        logger.info(
          {
            requestId: request.id,
            method: request.method,
            route,
            status,
            ms: Math.round(performance.now() - startedAt),
            bytes: socket.bytesWritten - bytesBefore,
            org: orgId,
            identity: identityId,
            outcome,
          },
          'request',
        );
      });
    },
    note(requestId, outcome) {
      const request = openRequests.get(requestId);
      if (request !== undefined) request.outcome = outcome;
    },
  };
}

function isError(status: number | null, outcome: string | null): boolean {
  return status === null || status >= 400 || (outcome !== null && isErrorOutcome(outcome));
}

function isErrorOutcome(outcome: string): boolean {
  return Object.hasOwn(errorCodes, outcome);
}
