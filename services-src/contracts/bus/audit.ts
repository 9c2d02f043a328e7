import { z } from 'zod';

import { auditRecord } from '../audit.ts';
import { defineContract } from '../define.ts';
import { readerPing } from '../events.ts';
import { auditLookup, auditQuery, auditVerification } from '../http/audit.ts';
import { id, pageSchemaOf, pageRequest, signedPrincipal } from '../vocabulary.ts';

const done = z.strictObject({});

/** The fifth layer: an append-only, hash-chained record of everything that happened. */
export const audit = defineContract('audit', {
  list: {
    request: z.strictObject({
      principal: signedPrincipal,
      page: pageRequest,
      filter: auditQuery.omit({ limit: true, cursor: true }),
    }),
    response: pageSchemaOf(auditRecord),
    errors: ['unauthenticated', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 5_000,
  },
  get: {
    request: z.strictObject({ principal: signedPrincipal, id }),
    response: auditLookup,
    errors: ['unauthenticated', 'forbidden', 'not_found'],
    callers: ['gateway'],
    timeoutMs: 5_000,
  },
  verify: {
    request: z.strictObject({ principal: signedPrincipal }),
    response: auditVerification,
    errors: ['unauthenticated', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 60_000,
  },
  ping: {
    request: done,
    response: readerPing,
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1_000,
  },
});
