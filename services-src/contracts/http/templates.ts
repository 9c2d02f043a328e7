import { z } from 'zod';

import { credentialPart } from '../credential-derivation.ts';
import { tokenActor } from '../oauth-provider.ts';
import {
  credentialEncoding,
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
import { templateStatuses } from '../value-sets.ts';
import { defineRoutes } from './define.ts';

export const findingLimits = { message: 2_000, path: 4_000 } as const;

/** An error or advice about a document. Codes are stable (registry/document/domain/findings.ts). */
export const finding = z.strictObject({
  code: z.string().max(60),
  /** The problem and how to correct it. */
  message: z.string().max(findingLimits.message),
  /** JSON pointer into the document as its author wrote it. */
  path: z.string().max(findingLimits.path),
  /** The line number, from 1; null where the document has no lines. */
  line: z.int().nullable(),
});
const findings = z.array(finding).max(100);

export const templateReport = z.strictObject({
  valid: z.boolean(),
  errors: findings,
  warnings: findings,
});
export type TemplateReport = z.infer<typeof templateReport>;

/** One action, with the data that an agent needs to call it. */
export const actionDescription = z.strictObject({
  action: z.string(),
  summary: z.string(),
  method: z.string(),
  path: z.string(),
  /** The base URL to which this action goes, when it has a server of its own. */
  server: z.string().optional(),
  risk,
  /** Present when the operation is marked as deprecated. */
  deprecated: z.literal(true).optional(),
  params_schema: z.record(z.string(), json),
});

export const templateStatus = z.enum(templateStatuses);
export type TemplateStatus = z.infer<typeof templateStatus>;

/** A variable of an address, whose value is given when the service is connected. */
const addressVariable = z.strictObject({
  name: z.string(),
  description: z.string(),
  default: z.string().nullable(),
});

/** A template: a registry entry from which a service can be connected. */
export const template = z.strictObject({
  key: z.string(),
  tier: templateTier,
  /** The user who owns the template; null for templates of the org and built-in ones. */
  owner_id: id.nullable(),
  status: templateStatus,
  /** The version that all members below describe. */
  version: z.int(),
  published_version: z.int().nullable(),
  /** The version that was saved last; newer than `published_version` until it is published. */
  latest_version: z.int(),
  title: z.string(),
  description: z.string(),
  category: z.string(),
  runtime: z.string(),
  /** The fixed hosts of all its servers. Credentials go to some of them (`addresses`). */
  hosts: z.array(z.string()),
  /** The variables of the first address. */
  variables: z.array(addressVariable),
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

/** One credential of a way to connect. */
export const neededCredential = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('secret'),
    scheme: z.string(),
    default_secret_name: z.string(),
    /**
     * The header or parameter in which the secret is sent, and the text before the secret:
     * `Authorization: Bearer`.
     */
    sent_as: z.string(),
    /** `basic`: the secret is a text of the form `user:password`. */
    encoding: credentialEncoding,
    /** The members of the JSON object that the secret's value is, when it has several parts. */
    parts: z.array(credentialPart).max(20).optional(),
    /** Further hosts to which the secret is sent, because they issue tokens for it. */
    token_hosts: z.array(z.string()).max(5).optional(),
    label: z.string().optional(),
    /** Which credential is meant, and where people find it. */
    description: z.string().optional(),
    acts_as: tokenActor.optional(),
  }),
  z.strictObject({
    kind: z.literal('connection'),
    scheme: z.string(),
    /** Key of the provider (`GET /v1/oauth-apps`). */
    provider: z.string(),
    scopes: z.array(z.string()).max(500),
    /** The words for this way to connect, for people. */
    label: z.string().optional(),
    /** Who acts by the token: a person, a bot, or the app. */
    acts_as: tokenActor.optional(),
    /** Descriptions of the scopes for people. A template may describe only some scopes. */
    scope_words: z.record(z.string(), z.string()).optional(),
    /** The scopes for which the provider reviews apps. */
    restricted_scopes: z.array(z.string()).max(500).optional(),
    /** The fewest scopes with which all reads, or all actions, can be called. */
    presets: z
      .strictObject({
        read_only: z.array(z.string()).max(500),
        read_and_change: z.array(z.string()).max(500),
      })
      .optional(),
    /** The fewest scopes that each action needs; an action that needs none is left out. */
    scopes_of_actions: z.record(z.string(), z.array(z.string()).max(100)).optional(),
  }),
]);
export type NeededCredential = z.infer<typeof neededCredential>;

export const templateDetail = template.extend({
  /** The address of the service, with `{variable}` parts. */
  base_url: z.string().optional(),
  /** For an MCP server: its endpoint. */
  mcp_server: z.string().optional(),
  /**
   * The ways to connect, of which one is enough; a way needs all its credentials. Empty when the
   * service needs no credential.
   */
  ways: z.array(z.array(neededCredential).max(5)).max(20).optional(),
  /**
   * The address of a service that is connected by each of `ways`, in the same order. Absent when
   * the address is `base_url` for all of them, and their credentials go to all of `hosts`.
   */
  addresses: z
    .array(
      z.strictObject({
        base_url: z.string(),
        variables: z.array(addressVariable).max(20),
        /**
         * True when the rest of the address comes from the account, where the person selects it.
         */
        is_of_account: z.boolean().optional(),
        /**
         * The hosts to which the credentials go, as far as they are known before the service is
         * connected.
         */
        hosts: z.array(z.string()).max(50),
      }),
    )
    .max(20)
    .optional(),
  actions: z.array(actionDescription).max(1000),
});
export type TemplateDetail = z.infer<typeof templateDetail>;

const changes = z.strictObject({
  added: z.array(z.string()).max(1000),
  removed: z.array(z.string()).max(1000),
});

/**
 * The part of an action that differs. `permission`: its risk, its scope parameter, or whether it is
 * disabled. `description`: any text that a person is shown.
 */
const differencePart = z.enum(['request', 'parameters', 'permission', 'description', 'security']);

/** How one version differs from another. */
export const templateDifference = z.strictObject({
  actions: changes.extend({
    changed: z
      .array(
        z.strictObject({
          action: z.string(),
          /** The parts of the action that differ. */
          parts: z.array(differencePart),
          /**
           * The positions of its permission keys, if they differ: rules that name an argument no
           * longer match.
           */
          scope: z
            .strictObject({ from: z.array(z.string()).max(3), to: z.array(z.string()).max(3) })
            .optional(),
        }),
      )
      .max(1000),
  }),
  hosts: changes,
  base_url: z.strictObject({ from: z.string().nullable(), to: z.string().nullable() }).nullable(),
  /** Security schemes by name, and whether the accepted combinations of them changed. */
  auth: changes.extend({ changed: z.array(z.string()).max(20), combinations: z.boolean() }),
});
export type TemplateDifference = z.infer<typeof templateDifference>;

export const savedTemplate = template.extend({
  warnings: findings,
  /** The difference from the previously saved version; null for the first version. */
  difference: templateDifference.nullable(),
});

export const templateVersion = z.strictObject({
  version: z.int(),
  is_published: z.boolean(),
  actions_count: z.int(),
  created_at: timestamp,
  created_by: id.nullable(),
  source_url: z.string().nullable(),
  /** The difference from the previous version; null for the first version. */
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
  /**
   * The `latest_version` that the caller edited; 409 `conflict` if another version was saved since.
   */
  version: z.int().min(1),
});
const publishTemplateBody = z.strictObject({ version: z.int().min(1) });
const validateTemplateBody = z.strictObject({ openapi: openapiDocument });

export const templateFilter = z.strictObject({
  /** Words that the key, title or description must contain. */
  q: z.string().max(200).optional(),
  category: z.string().max(100).optional(),
  tier: templateTier.optional(),
  status: templateStatus.optional(),
});

const templateKeyParams = z.strictObject({ key: name.or(z.literal('http')) });
/**
 * Without a tier (user, org or global), a read returns the most specific template that the caller
 * may see.
 */
const anyTierQuery = z.strictObject({ tier: templateTier.optional() });
/** Without a tier, a change applies to the caller's own template. */
const ownTierQuery = z.strictObject({ tier: tier.optional() });

export const templateRoutes = defineRoutes({
  listTemplates: {
    method: 'GET',
    path: '/v1/templates',
    summary: 'Templates the caller may see, by key, the most specific tier first',
    tag: 'Templates',
    access: 'actions:read',
    query: pageQuery.extend(templateFilter.shape),
    responses: { 200: pageSchemaOf(template) },
    serves: 'registry.listTemplates',
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
    serves: 'registry.createTemplate',
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
    serves: 'registry.validateTemplate',
    audit: 'none',
  },
  getTemplate: {
    method: 'GET',
    path: '/v1/templates/{key}',
    summary: 'One template with its actions',
    tag: 'Templates',
    access: 'actions:read',
    params: templateKeyParams,
    query: anyTierQuery.extend({ version: z.coerce.number().int().min(1).optional() }),
    responses: { 200: templateDetail },
    serves: 'registry.getTemplate',
    audit: 'none',
  },
  getTemplateDocument: {
    method: 'GET',
    path: '/v1/templates/{key}/document',
    summary: 'The document of a template as its author saved it',
    tag: 'Templates',
    access: 'user',
    params: templateKeyParams,
    query: ownTierQuery.extend({ version: z.coerce.number().int().min(1).optional() }),
    responses: { 200: z.strictObject({ version: z.int(), openapi: z.string() }) },
    serves: 'registry.getTemplateDocument',
    audit: 'none',
  },
  updateTemplate: {
    method: 'PUT',
    path: '/v1/templates/{key}',
    summary: 'Save the next version of a template; what is published stays',
    tag: 'Templates',
    access: 'user',
    params: templateKeyParams,
    query: ownTierQuery,
    body: updateTemplateBody,
    responses: { 200: savedTemplate },
    serves: 'registry.updateTemplate',
    audit: ['template.saved'],
  },
  listTemplateVersions: {
    method: 'GET',
    path: '/v1/templates/{key}/versions',
    summary: 'Versions of a template, newest first, with what each changed',
    tag: 'Templates',
    access: 'user',
    params: templateKeyParams,
    query: pageQuery.extend(anyTierQuery.shape),
    responses: { 200: pageSchemaOf(templateVersion) },
    serves: 'registry.listTemplateVersions',
    audit: 'none',
  },
  publishTemplate: {
    method: 'POST',
    path: '/v1/templates/{key}/publish',
    summary: 'Make a version the one that is found and connected',
    tag: 'Templates',
    access: 'user',
    params: templateKeyParams,
    query: ownTierQuery,
    body: publishTemplateBody,
    responses: { 200: template },
    serves: ['policy.recordTemplate', 'registry.getTemplate', 'registry.publishTemplate'],
    audit: ['template.published'],
  },
  disableTemplate: {
    method: 'POST',
    path: '/v1/templates/{key}/disable',
    summary: 'Take a template out of use, and every service made from it',
    tag: 'Templates',
    access: 'user',
    params: templateKeyParams,
    query: ownTierQuery,
    responses: { 200: template },
    serves: 'registry.switchTemplate',
    audit: ['template.disabled'],
  },
  enableTemplate: {
    method: 'POST',
    path: '/v1/templates/{key}/enable',
    summary: 'Take a disabled template into use again',
    tag: 'Templates',
    access: 'user',
    params: templateKeyParams,
    query: ownTierQuery,
    responses: { 200: template },
    serves: 'registry.switchTemplate',
    audit: ['template.enabled'],
  },
  deleteTemplate: {
    method: 'DELETE',
    path: '/v1/templates/{key}',
    summary: 'Delete a template that no service uses, with all its versions',
    tag: 'Templates',
    access: 'user',
    params: templateKeyParams,
    query: ownTierQuery,
    responses: { 204: null },
    serves: ['registry.deleteTemplate', 'policy.forgetTemplate'],
    audit: ['template.deleted'],
  },
});
