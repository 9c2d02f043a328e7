import { z } from 'zod';

import { httpMethod, id, name, risk, tier, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';
import { findingLimits, savedTemplate } from './templates.ts';

/** An uploaded document, and one that is fetched, at most. */
export const importBytesMax = 67_108_864;

/** Part of a document: whatever fits into one request. */
export const uploadText = z
  .string()
  .min(1)
  .max(700_000)
  .refine((text) => text.isWellFormed(), 'must not be cut inside of a character');

/** Any OpenAPI 3.0 or 3.1 document, JSON or YAML. */
const importSource = z.union([
  /** Fetched once, through the guarded client: public https addresses only. */
  z.strictObject({ url: z.url({ protocol: /^https?$/ }).max(2000) }),
  /** The text itself. Larger ones are uploaded in parts first. */
  z.strictObject({ document: z.string().min(1).max(1_048_576) }),
  z.strictObject({ upload_id: id }),
]);

export const importTemplateBody = z.strictObject({
  source: importSource,
  /** Operation ids, as an earlier import listed them, or `METHOD /path`. Without it all that fit. */
  include_operations: z.array(z.string().min(1).max(2100)).min(1).max(1000).optional(),
  /** Made from the title otherwise. */
  key: name.optional(),
  tier: tier.optional(),
});

export const importFinding = z.strictObject({
  code: z.string().max(60),
  message: z.string().max(findingLimits.message),
  /** JSON pointer into the document as it was given. */
  path: z.string().max(findingLimits.path),
  line: z.int().nullable(),
  /** `warning`: somebody should look; `info`: how it was read. */
  severity: z.enum(['error', 'warning', 'info']),
});

export const importedOperation = z.strictObject({
  operation_id: z.string().max(2100),
  method: httpMethod.or(z.literal('TRACE')),
  path: z.string().max(2000),
  summary: z.string().max(1000),
  risk,
  /** Whether it is an action of the draft. */
  included: z.boolean(),
  /** What the document did not say. */
  inferred: z.array(z.string().max(40)).max(20),
  /** Why it was selected and yet is not in the draft. */
  skipped: z.strictObject({ code: z.string().max(60), message: z.string().max(2000) }).optional(),
});

/** The draft, and how it was read. Importing a key again saves its next version, with the difference. */
export const importedTemplate = z.strictObject({
  template: savedTemplate,
  operations: z.array(importedOperation).max(20_000),
  /** More than are listed when the list would not fit into an answer. */
  operations_count: z.int(),
  findings: z.array(importFinding).max(500),
});

/** How far an import is. */
const importProgress = z.strictObject({
  /** `waiting` for its turn among other imports, then this order. */
  phase: z.enum(['waiting', 'reading', 'converting', 'saving']),
  /** Operations that were looked at. */
  done: z.int().min(0),
  /** Operations of the document; null until it has been read. */
  total: z.int().min(0).nullable(),
});
export type ImportProgress = z.infer<typeof importProgress>;

export const upload = z.strictObject({
  id,
  /** Bytes of UTF-8 so far. */
  size: z.int(),
  expires_at: timestamp,
  /** Of the import that began last; null when it has ended or died, and before the first. */
  progress: importProgress.nullable(),
});

const uploadPart = z.strictObject({ text: uploadText });

export const templateImportRoutes = defineRoutes({
  importTemplate: {
    method: 'POST',
    path: '/v1/templates/import',
    summary: 'Save a draft made from any OpenAPI document',
    tag: 'Templates',
    access: 'user',
    body: importTemplateBody,
    responses: { 201: importedTemplate },
    errors: [
      'forbidden',
      'not_found',
      'conflict',
      'invalid_params',
      'template_invalid',
      'upstream_unreachable',
      'upstream_refused_address',
      'upstream_incomplete',
      'upstream_timeout',
      'response_too_large',
    ],
    audit: ['template.saved'],
  },
  startUpload: {
    method: 'POST',
    path: '/v1/templates/uploads',
    summary: 'Begin to upload a document that is too large for one request',
    tag: 'Templates',
    access: 'user',
    body: uploadPart,
    responses: { 201: upload },
    errors: ['forbidden', 'conflict'],
    audit: 'none',
  },
  getUpload: {
    method: 'GET',
    path: '/v1/templates/uploads/{id}',
    summary: 'See how far an upload is, and its import',
    tag: 'Templates',
    access: 'user',
    params: z.strictObject({ id }),
    responses: { 200: upload },
    errors: ['not_found'],
    audit: 'none',
  },
  continueUpload: {
    method: 'POST',
    path: '/v1/templates/uploads/{id}/parts',
    summary: 'Add the next part of a document',
    tag: 'Templates',
    access: 'user',
    params: z.strictObject({ id }),
    body: uploadPart.extend({
      /** The `size` that the part before answered. */
      offset: z.int().min(1).max(importBytesMax),
    }),
    responses: { 200: upload },
    errors: ['not_found', 'conflict', 'too_large'],
    audit: 'none',
  },
});
