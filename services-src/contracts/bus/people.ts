import { z } from 'zod';

import type { EndpointSpec } from '../define.ts';
import { changeProfileBody, profile } from '../http/profile.ts';
import { callContext, displayNameCharactersMax, id, signedPrincipal } from '../vocabulary.ts';

const principalRequest = z.strictObject({ principal: signedPrincipal });
const profileOptions = { callers: ['gateway'], timeoutMs: 3_000 } as const;
/** The most identities whose display names are read at once. */
export const namedIdentitiesMax = 1_000;

/** The part of auth's contract about what people set for themselves. */
export const peopleEndpoints = {
  getProfile: {
    request: principalRequest,
    response: profile,
    errors: ['unauthenticated', 'forbidden'],
    ...profileOptions,
    repeatable: true,
  },
  changeProfile: {
    request: principalRequest.extend({ body: changeProfileBody, context: callContext }),
    response: profile,
    errors: ['unauthenticated', 'forbidden', 'not_found'],
    ...profileOptions,
    repeatable: false,
  },
  visitProfile: {
    request: principalRequest,
    response: profile,
    errors: ['unauthenticated', 'forbidden'],
    ...profileOptions,
    repeatable: true,
  },
  /**
   * The display names of the people to whom these identities of the caller's org belong. Identities
   * of people without a display name are left out.
   */
  listDisplayNames: {
    request: principalRequest.extend({ ids: z.array(id).max(namedIdentitiesMax) }),
    response: z.strictObject({
      names: z
        .array(z.strictObject({ id, displayName: z.string().max(displayNameCharactersMax * 2) }))
        .max(namedIdentitiesMax),
    }),
    errors: ['unauthenticated'],
    callers: ['gateway'],
    timeoutMs: 1_000,
    repeatable: true,
  },
} as const satisfies Record<string, EndpointSpec>;
