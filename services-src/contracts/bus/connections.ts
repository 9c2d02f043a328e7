import { z } from 'zod';

import type { EndpointSpec } from '../define.ts';
import { connectionStatus } from '../http/connections.ts';
import { host, id, nameReference, signedPrincipal } from '../vocabulary.ts';

const done = z.strictObject({});
const asked = z.strictObject({ principal: signedPrincipal });

/** The part of the executor's contract about connections and provider apps. */
export const connectionEndpoints = {
  /** Which of these connections exist for this user, in which state, and where their tokens may go. No tokens. */
  describeConnections: {
    request: z.strictObject({
      orgId: id,
      userId: id,
      names: z.array(nameReference).min(1).max(20),
    }),
    response: z.strictObject({
      connections: z.array(
        z.strictObject({
          /** The name as it was asked for, and as it stands in permission keys (`org/` for the org's). */
          asked: nameReference,
          reference: nameReference,
          id,
          provider: z.string().max(100),
          status: connectionStatus,
          allowedHosts: z.array(host),
          grantedScopes: z.array(z.string()),
          /** Where its owner completes or repairs it. */
          authUrl: z.string(),
        }),
      ),
    }),
    errors: [],
    callers: ['policy', 'registry'],
    timeoutMs: 2_000,
  },
  /** Connecting a service adds its hosts to the connection when the caller may write it; else `host_not_allowed`. */
  allowConnectionHosts: {
    request: asked.extend({ reference: nameReference, hosts: z.array(host).min(1).max(50) }),
    response: done,
    errors: ['credential_missing', 'host_not_allowed'],
    callers: ['registry'],
    timeoutMs: 3_000,
  },
} as const satisfies Record<string, EndpointSpec>;
