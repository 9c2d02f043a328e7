import { z } from 'zod';

import {
  id,
  json,
  name,
  pageSchemaOf,
  pageQuery,
  risk,
  templateTier,
  tier,
  timestamp,
} from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

export const findingLimits = { message: 2_000, path: 4_000 } as const;

/** What is wrong with a document, or could be better. Codes are stable (registry/domain/findings.ts). */
export const finding = z.strictObject({
  code: z.string().max(60),
  /** Says how to mend it. */
  message: z.string().max(findingLimits.message),
  /** JSON pointer into the document as its author wrote it. */
  path: z.string().max(findingLimits.path),
  /** From 1; null where the document has no lines. */
  line: z.int().nullable(),
});
const findings = z.array(finding).max(100);

export const templateReport = z.strictObject({
  valid: z.boolean(),
  errors: findings,
  warnings: findings,
});
export type TemplateReport = z.infer<typeof templateReport>;

/** One action as an agent needs to see it to call it. */
export const actionDescription = z.strictObject({
  action: z.string(),
  summary: z.string(),
  method: z.string(),
  path: z.string(),
  risk,
  params_schema: z.record(z.string(), json),
});

/**
 * `draft`: never published. `published`: can be connected, in the version `published_version`.
 * `disabled`: neither found nor connected, and services made from it are not called.
 */
export const templateStatus = z.enum(['draft', 'published', 'disabled']);
export type TemplateStatus = z.infer<typeof templateStatus>;

/** A registry entry: what can be connected. */
export const template = z.strictObject({
  key: z.string(),
  tier: templateTier,
  /** The user it belongs to; null for the org's and built-in ones. */
  owner_id: id.nullable(),
  status: templateStatus,
  /** The version that everything below describes. */
  version: z.int(),
  published_version: z.int().nullable(),
  /** Saved last; beyond `published_version` until that is published. */
  latest_version: z.int(),
  title: z.string(),
  description: z.string(),
  category: z.string(),
  runtime: z.string(),
  hosts: z.array(z.string()),
  variables: z.array(
    z.strictObject({ name: z.string(), description: z.string(), default: z.string().nullable() }),
  ),
  base_url_allowed: z.boolean(),
  auth: z.array(
    z.strictObject({
      scheme: z.string(),
      type: z.string(),
      default_secret_name: z.string().nullable(),
    }),
  ),
  actions_count: z.int(),
  updated_at: timestamp.nullable(),
});
export type Template = z.infer<typeof template>;
export const templateDetail = template.extend({ actions: z.array(actionDescription).max(1000) });

const changes = z.strictObject({
  added: z.array(z.string()).max(1000),
  removed: z.array(z.string()).max(1000),
});

/** `permission`: risk, scope parameter, disabled or not. `description`: all that a person is shown. */
const differencePart = z.enum(['request', 'parameters', 'permission', 'description', 'security']);

/** What one version has that another has not. */
export const templateDifference = z.strictObject({
  actions: changes.extend({
    changed: z
      .array(
        z.strictObject({
          action: z.string(),
          /** Which parts of it. */
          parts: z.array(differencePart),
        }),
      )
      .max(1000),
  }),
  hosts: changes,
  base_url: z.strictObject({ from: z.string().nullable(), to: z.string().nullable() }).nullable(),
  /** Security schemes by name, and whether other combinations of them are enough. */
  auth: changes.extend({ changed: z.array(z.string()).max(20), combinations: z.boolean() }),
});
export type TemplateDifference = z.infer<typeof templateDifference>;

export const savedTemplate = template.extend({
  warnings: findings,
  /** Against the version saved before; null for the first. */
  difference: templateDifference.nullable(),
});

export const templateVersion = z.strictObject({
  version: z.int(),
  is_published: z.boolean(),
  actions_count: z.int(),
  created_at: timestamp,
  created_by: id.nullable(),
  source_url: z.string().nullable(),
  /** Against the version before it; null for the first. */
  difference: templateDifference.nullable(),
});

/** An OpenAPI 3.1.0 document with `x-service-*` extensions: its text (YAML or JSON), or a JSON object. */
export const openapiDocument = z.union([
  z.string().min(1).max(1_048_576),
  z.record(z.string().max(200), json),
]);

export const createTemplateBody = z.strictObject({
  openapi: openapiDocument,
  tier: tier.optional(),
});
export const updateTemplateBody = z.strictObject({
  openapi: openapiDocument,
  /** The `latest_version` that was edited: if another was saved since, 409 `conflict`. */
  version: z.int().min(1),
});
const publishTemplateBody = z.strictObject({ version: z.int().min(1) });
const validateTemplateBody = z.strictObject({ openapi: openapiDocument });

export const templateFilter = z.strictObject({
  /** Words that key, title or description hold. */
  q: z.string().max(200).optional(),
  category: z.string().max(100).optional(),
  tier: templateTier.optional(),
  status: templateStatus.optional(),
});

const byKey = z.strictObject({ key: name.or(z.literal('http')) });
/** Reading without a tier means the most specific that the caller may see. */
const ofAnyTier = z.strictObject({ tier: templateTier.optional() });
/** Writing without a tier means the caller's own. */
const ofOwnTier = z.strictObject({ tier: tier.optional() });

export const templateRoutes = defineRoutes({
  listTemplates: {
    method: 'GET',
    path: '/v1/templates',
    summary: 'Templates the caller may see, by key, the most specific tier first',
    tag: 'Templates',
    access: 'actions:read',
    query: pageQuery.extend(templateFilter.shape),
    responses: { 200: pageSchemaOf(template) },
    errors: [],
    audit: 'none',
  },
  createTemplate: {
    method: 'POST',
    path: '/v1/templates',
    summary: 'Save a draft of a new template',
    tag: 'Templates',
    access: 'user',
    body: createTemplateBody,
    responses: { 201: savedTemplate },
    errors: ['forbidden', 'conflict', 'template_invalid'],
    audit: ['template.saved'],
  },
  validateTemplate: {
    method: 'POST',
    path: '/v1/templates/validate',
    summary: 'Check a template document without saving it',
    tag: 'Templates',
    access: 'user',
    body: validateTemplateBody,
    responses: { 200: templateReport },
    errors: [],
    audit: 'none',
  },
  getTemplate: {
    method: 'GET',
    path: '/v1/templates/{key}',
    summary: 'One template with its actions',
    tag: 'Templates',
    access: 'actions:read',
    params: byKey,
    query: ofAnyTier.extend({ version: z.coerce.number().int().min(1).optional() }),
    responses: { 200: templateDetail },
    errors: ['not_found'],
    audit: 'none',
  },
  getTemplateDocument: {
    method: 'GET',
    path: '/v1/templates/{key}/document',
    summary: 'The document of a template as its author saved it',
    tag: 'Templates',
    access: 'user',
    params: byKey,
    query: ofOwnTier.extend({ version: z.coerce.number().int().min(1).optional() }),
    responses: { 200: z.strictObject({ version: z.int(), openapi: z.string() }) },
    errors: ['not_found'],
    audit: 'none',
  },
  updateTemplate: {
    method: 'PUT',
    path: '/v1/templates/{key}',
    summary: 'Save the next version of a template; what is published stays',
    tag: 'Templates',
    access: 'user',
    params: byKey,
    query: ofOwnTier,
    body: updateTemplateBody,
    responses: { 200: savedTemplate },
    errors: ['not_found', 'forbidden', 'conflict', 'template_invalid'],
    audit: ['template.saved'],
  },
  listTemplateVersions: {
    method: 'GET',
    path: '/v1/templates/{key}/versions',
    summary: 'Versions of a template, newest first, with what each changed',
    tag: 'Templates',
    access: 'user',
    params: byKey,
    query: pageQuery.extend(ofAnyTier.shape),
    responses: { 200: pageSchemaOf(templateVersion) },
    errors: ['not_found'],
    audit: 'none',
  },
  publishTemplate: {
    method: 'POST',
    path: '/v1/templates/{key}/publish',
    summary: 'Make a version the one that is found and connected',
    tag: 'Templates',
    access: 'user',
    params: byKey,
    query: ofOwnTier,
    body: publishTemplateBody,
    responses: { 200: template },
    errors: ['not_found', 'forbidden', 'template_invalid'],
    audit: ['template.published'],
  },
  disableTemplate: {
    method: 'POST',
    path: '/v1/templates/{key}/disable',
    summary: 'Take a template out of use, and every service made from it',
    tag: 'Templates',
    access: 'user',
    params: byKey,
    query: ofOwnTier,
    responses: { 200: template },
    errors: ['not_found', 'forbidden'],
    audit: ['template.disabled'],
  },
  enableTemplate: {
    method: 'POST',
    path: '/v1/templates/{key}/enable',
    summary: 'Take a disabled template into use again',
    tag: 'Templates',
    access: 'user',
    params: byKey,
    query: ofOwnTier,
    responses: { 200: template },
    errors: ['not_found', 'forbidden'],
    audit: ['template.enabled'],
  },
  deleteTemplate: {
    method: 'DELETE',
    path: '/v1/templates/{key}',
    summary: 'Delete a template that no service uses, with all its versions',
    tag: 'Templates',
    access: 'user',
    params: byKey,
    query: ofOwnTier,
    responses: { 204: null },
    errors: ['not_found', 'forbidden', 'conflict'],
    audit: ['template.deleted'],
  },
});
