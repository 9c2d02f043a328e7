import { z } from 'zod';

import { auditRecord } from '../audit.ts';
import { defineContract } from '../define.ts';
import { readerPing } from '../events.ts';
import { auditLookup, auditQuery, auditVerification, usage, usageQuery } from '../http/audit.ts';
import { id, pageSchemaOf, pageRequest, signedPrincipal } from '../vocabulary.ts';

const emptyReply = z.strictObject({});

/** The audit log: an append-only, hash-chained record of all calls, decisions and changes. */
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
    repeatable: true,
  },
  get: {
    request: z.strictObject({ principal: signedPrincipal, id }),
    response: auditLookup,
    errors: ['unauthenticated', 'forbidden', 'not_found'],
    callers: ['gateway'],
    timeoutMs: 5_000,
    repeatable: true,
  },
  verify: {
    request: z.strictObject({ principal: signedPrincipal }),
    response: auditVerification,
    errors: ['unauthenticated', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 60_000,
    repeatable: false,
  },
  usage: {
    request: z.strictObject({ principal: signedPrincipal, query: usageQuery }),
    response: usage,
    errors: ['unauthenticated', 'forbidden', 'invalid_request'],
    callers: ['gateway'],
    timeoutMs: 5_000,
    repeatable: true,
  },
  ping: {
    request: emptyReply,
    /** `unreadable`: the number of records that no release has been able to read; at most 1,000. */
    response: readerPing.extend({ unreadable: z.int().min(0) }),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1_000,
    repeatable: false,
  },
});
