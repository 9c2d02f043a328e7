import { allowInsecureRequests, customFetch } from 'oauth4webapi';

import type { Deadline } from '#bus';
import type { Egress, EgressResponse } from '#egress';

/** The dependencies for requests to a server that is not trusted yet. */
export interface ReadingDeps {
  readonly egress: Egress;
  readonly deadline: Deadline;
}

const bytesMax = 262_144;
const timeoutMsMax = 6_000;

/**
 * Sends one request, limited in size and time, through the egress guard, to a server that is not
 * trusted yet.
 */
export function askServer(
  { egress, deadline }: ReadingDeps,
  request: {
    url: string;
    method?: string;
    headers?: readonly (readonly [string, string])[];
    body?: Uint8Array;
  },
): Promise<EgressResponse> {
  const { url, method = 'GET', headers = [], body } = request;
  return egress.request({
    method,
    url,
    headers,
    body,
    totalTimeoutMs: Math.max(1, Math.min(timeoutMsMax, deadline.remainingMs())),
    maxBytes: bytesMax,
  });
}

/**
 * Makes the OAuth library send its requests through the egress guard, which also decides whether
 * plain http is allowed.
 */
export function guardedFetchOptions(readingDeps: ReadingDeps, server: URL) {
  return {
    [allowInsecureRequests]: server.protocol === 'http:',
    [customFetch]: async (
      url: string,
      { headers }: { headers: Record<string, string> },
    ): Promise<Response> => {
      const answer = await askServer(readingDeps, { url, headers: Object.entries(headers) });
      return new Response(Buffer.from(answer.body), {
        status: answer.status,
        headers: answer.headers.map(([name, value]): [string, string] => [name, value]),
      });
    },
  };
}
