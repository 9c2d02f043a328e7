import { allowInsecureRequests, customFetch } from 'oauth4webapi';

import type { Deadline } from '#bus';
import type { Egress, EgressResponse } from '#egress';

/** What reading about a stranger's server takes. */
export interface Reading {
  readonly egress: Egress;
  readonly deadline: Deadline;
}

const bytesMax = 262_144;
const timeoutMsMax = 6_000;

/** One request to a server that is only being looked at; through the guard, and bounded. */
export function ask(
  { egress, deadline }: Reading,
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

/** The same for requests of the OAuth library. Whether plain http may be reached is the guard's to say. */
export function throughGuard(reading: Reading, server: URL) {
  return {
    [allowInsecureRequests]: server.protocol === 'http:',
    [customFetch]: async (
      url: string,
      { headers }: { headers: Record<string, string> },
    ): Promise<Response> => {
      const answer = await ask(reading, { url, headers: Object.entries(headers) });
      return new Response(Buffer.from(answer.body), {
        status: answer.status,
        headers: answer.headers.map(([name, value]): [string, string] => [name, value]),
      });
    },
  };
}
