import { z } from 'zod';

import { credentialPlaceNames } from '../credential-place.ts';
import { httpMethod, id, name, risk, tier, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';
import { findingLimits, savedTemplate } from './templates.ts';

/** The largest document that can be uploaded or fetched. */
export const importBytesMax = 67_108_864;

/** One part of an uploaded document, small enough for one request. */
export const uploadText = z
  .string()
  .min(1)
  .max(700_000)
  .refine((text) => text.isWellFormed(), 'must not be cut inside of a character');

/** Any document of OpenAPI 3 or Swagger 2.0, JSON or YAML. */
const importSource = z.union([
  /**
   * A document that is fetched once, through the guarded client: from public https addresses only.
   */
  z.strictObject({ url: z.url({ protocol: /^https?$/ }).max(2000) }),
  /** The text of the document. A larger document must first be uploaded in parts. */
  z.strictObject({ document: z.string().min(1).max(1_048_576) }),
  z.strictObject({ upload_id: id }),
]);

export const importTemplateBody = z.strictObject({
  source: importSource,
  /**
   * The operations to import, by the ids that an earlier import listed or as `METHOD /path`. By
   * default all operations that fit.
   */
  include_operations: z.array(z.string().min(1).max(2100)).min(1).max(1000).optional(),
  /** The template's key; by default made from the document's title. */
  key: name.optional(),
  tier: tier.optional(),
  /**
   * The base URL of the API, by https. It takes the place of the servers that the document names;
   * relative servers of operations are relative to it.
   */
  base_url: z.url().max(2000).optional(),
  /** Where requests carry the API key, if the document does not say so. */
  api_key: z
    .strictObject({ in: z.enum(credentialPlaceNames), name: z.string().min(1).max(200) })
    .optional(),
});

export const importFinding = z.strictObject({
  code: z.string().max(60),
  message: z.string().max(findingLimits.message),
  /** JSON pointer into the document as it was given. */
  path: z.string().max(findingLimits.path),
  line: z.int().nullable(),
  /** `warning`: a person should check the place; `info`: how the import read it. */
  severity: z.enum(['error', 'warning', 'info']),
});

export const importedOperation = z.strictObject({
  operation_id: z.string().max(2100),
  method: httpMethod.or(z.literal('TRACE')),
  path: z.string().max(2000),
  summary: z.string().max(1000),
  risk,
  /** Present when the document says, as a mark or in words, that the operation is deprecated. */
  deprecated: z.literal(true).optional(),
  /** Whether the operation is an action of the draft. */
  included: z.boolean(),
  /** The facts that the import inferred because the document does not state them. */
  inferred: z.array(z.string().max(40)).max(20),
  /** Why a selected operation is not in the draft. */
  skipped: z.strictObject({ code: z.string().max(60), message: z.string().max(2000) }).optional(),
});

/**
 * The draft that an import saved, and its findings. A further import with the same template key
 * saves the next version of the template, and its answer shows the changes.
 */
export const importedTemplate = z.strictObject({
  template: savedTemplate,
  operations: z.array(importedOperation).max(20_000),
  /**
   * The number of operations in the document. The list may be shorter, because it is cut to fit
   * into an answer.
   */
  operations_count: z.int(),
  findings: z.array(importFinding).max(500),
});

/** Progress of an import. */
const importProgress = z.strictObject({
  /** The phases in order; `waiting` means that other imports go first. */
  phase: z.enum(['waiting', 'reading', 'converting', 'saving']),
  /** Operations handled so far. */
  done: z.int().min(0),
  /** Operations of the document; null until it has been read. */
  total: z.int().min(0).nullable(),
});
export type ImportProgress = z.infer<typeof importProgress>;

export const upload = z.strictObject({
  id,
  /** The bytes of UTF-8 that were uploaded so far. */
  size: z.int(),
  expires_at: timestamp,
  /**
   * Progress of the latest import of the upload; null before the first import, and when it has
   * ended or crashed.
   */
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
    serves: 'registry.importTemplate',
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
    serves: 'registry.startUpload',
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
    serves: 'registry.getUpload',
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
      /** The `size` in the answer to the previous part. */
      offset: z.int().min(1).max(importBytesMax),
    }),
    responses: { 200: upload },
    serves: 'registry.continueUpload',
    audit: 'none',
  },
});
