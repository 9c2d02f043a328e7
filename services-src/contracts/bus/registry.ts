import { z } from 'zod';

import { templateReference } from '../call.ts';
import { defineContract } from '../define.ts';
import { searchLimits, searchReply } from '../http/search.ts';
import {
  connectedService,
  createServiceBody,
  serviceDetail,
  serviceList,
  updateServiceBody,
  upgradeServiceBody,
  upgradedService,
} from '../http/services.ts';
import {
  acceptToolBody,
  askingErrors,
  discoveredTools,
  serviceTool,
  serviceToolDetail,
} from '../http/service-tools.ts';
import {
  createTemplateBody,
  openapiDocument,
  savedTemplate,
  template,
  templateDetail,
  templateFilter,
  templateReport,
  templateVersion,
  updateTemplateBody,
} from '../http/templates.ts';
import {
  importedTemplate,
  importTemplateBody,
  upload,
  uploadText,
} from '../http/template-import.ts';
import { secretUse } from '../http/secrets.ts';
import { compiledTemplate } from '../template.ts';
import {
  host,
  id,
  nameReference,
  pageSchemaOf,
  pageRequest,
  signedPrincipal,
  templateTier,
  tier,
} from '../vocabulary.ts';

/** A connected service as policy and executor need it. */
export const serviceRecord = z.strictObject({
  id,
  /** As it stands in permission keys: `github`, or `org/github` for the org's. */
  name: z.string().max(67),
  tier,
  ownerId: id.nullable(),
  template: templateReference,
  status: z.enum(['ready', 'needs_credentials', 'needs_reauth', 'disabled']),
  autoAllowReads: z.boolean(),
  baseUrl: z.string().max(2000),
  hosts: z.array(host).max(50),
  /** Secret by security scheme, as references (`github_token`, `org/github_token`). */
  secrets: z.record(z.string(), nameReference),
  /** Of its OAuth schemes (`github`, `org/github`); null when it uses none of them. */
  connection: nameReference.nullable(),
});
export type ServiceRecord = z.infer<typeof serviceRecord>;

const done = z.strictObject({});
export const secretUsingServicesMax = 1_000;
const byName = z.strictObject({ principal: signedPrincipal, name: nameReference });
const templateKey = z.string().max(63);
/** A template of a user or of the org: the caller's own where `tier` is `user`. */
const ownTemplate = z.strictObject({ principal: signedPrincipal, key: templateKey, tier });
const version = z.int().min(1);
const toolName = z.string().min(1).max(128);
/** Null: the most specific that the caller may see. */
const anyTemplate = z.strictObject({
  principal: signedPrincipal,
  key: templateKey,
  tier: templateTier.nullable().default(null),
});

/** Templates and the services connected from them. */
export const registry = defineContract('registry', {
  /**
   * The service a name stands for: the user's own, else the org's; `org/name` the org's.
   * `unknown_service` carries `available` (at most 50 names) and `did_you_mean`.
   */
  resolveService: {
    request: z.strictObject({ orgId: id, userId: id, name: nameReference }),
    response: serviceRecord,
    errors: ['unknown_service'],
    callers: ['policy', 'executor'],
    timeoutMs: 2_000,
  },
  /** One compiled version; never changes, so callers keep it. Of up to 3 MB, which take a tenth of a second to parse. */
  getCompiledTemplate: {
    request: z.strictObject({ orgId: id, template: templateReference }),
    response: compiledTemplate,
    errors: ['not_found'],
    callers: ['policy', 'executor'],
    timeoutMs: 3_000,
    hot: true,
  },
  /** How a template that the caller may connect asks for access to an account; `conflict` when it does not. */
  describeTemplateOauth: {
    request: z.strictObject({
      principal: signedPrincipal,
      key: templateKey,
      /** For everybody in the org: not by one person's own template. */
      isForOrg: z.boolean(),
    }),
    response: z.strictObject({
      provider: z.string().max(100),
      authorizationUrl: z.string().max(2000),
      tokenUrl: z.string().max(2000),
      scopes: z.array(z.string().max(300)).max(500),
      hosts: z.array(host).max(50),
      /** Policy is asked whether these are its hosts. */
      template: templateReference,
    }),
    errors: ['not_found', 'conflict'],
    callers: ['executor'],
    timeoutMs: 3_000,
  },
  /**
   * A call has used the tools of this MCP server; with `isTold` it said or showed that they changed.
   * It is asked for them now if that is due, and the answer comes when that is over. Whoever calls
   * does not wait for it: what is lost is made up for within the hour.
   */
  followTools: {
    request: z.strictObject({ orgId: id, serviceId: id, isTold: z.boolean() }),
    response: done,
    errors: [],
    callers: ['executor'],
    timeoutMs: 30_000,
  },
  /**
   * Connected services of the user and the org, and templates, that have this host: deny rules on any
   * of them apply (docs/reference/permissions.md#what-a-deny-reaches).
   */
  findByHost: {
    request: z.strictObject({ orgId: id, userId: id, host }),
    response: z.strictObject({
      services: z.array(serviceRecord).max(200),
      templates: z.array(templateReference).max(200),
      /** There are more than this. The org's services come first. */
      isCut: z.boolean(),
    }),
    errors: [],
    callers: ['policy'],
    timeoutMs: 2_000,
  },
  /**
   * Connected services, to see which of them a deny rule stops: those that the user can call, or those
   * that other users of the org have for themselves. 200 at a time, `after` the last of the ones before.
   */
  listConnected: {
    request: z.strictObject({
      orgId: id,
      userId: id,
      whose: z.enum(['callable', 'others']),
      after: id.nullable(),
    }),
    response: z.strictObject({
      services: z.array(serviceRecord).max(200),
      next: id.nullable(),
    }),
    errors: [],
    callers: ['policy'],
    timeoutMs: 2_000,
  },
  /**
   * Services whose credentials are these secrets. `userId`: only what this user can use, null all
   * of the org. At most 1,000 are looked through.
   */
  findSecretUses: {
    request: z.strictObject({
      orgId: id,
      userId: id.nullable(),
      references: z.array(nameReference).min(1).max(400),
    }),
    response: z.strictObject({
      services: z
        .array(secretUse.extend({ references: z.array(nameReference).max(100) }))
        .max(secretUsingServicesMax),
    }),
    errors: [],
    callers: ['executor'],
    timeoutMs: 2_000,
  },
  /**
   * Actions of connected services that match a query, best first; the services themselves when
   * it is empty. `catalog` adds templates that are not connected.
   */
  search: {
    request: z.strictObject({
      principal: signedPrincipal,
      query: z.string().max(200),
      limit: z.int().min(1).max(searchLimits.max),
      catalog: z.boolean(),
    }),
    response: searchReply,
    errors: [],
    callers: ['gateway', 'executor'],
    timeoutMs: 5_000,
  },
  listServices: {
    request: z.strictObject({
      principal: signedPrincipal,
      page: pageRequest,
      catalog: z.boolean().default(false),
    }),
    response: serviceList,
    errors: [],
    callers: ['gateway', 'executor'],
    timeoutMs: 3_000,
  },
  getService: {
    request: byName,
    response: serviceDetail,
    errors: ['unknown_service'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  createService: {
    request: z.strictObject({ principal: signedPrincipal, body: createServiceBody }),
    response: connectedService,
    errors: [
      'forbidden',
      'conflict',
      'not_found',
      'credential_missing',
      'host_not_allowed',
      'invalid_params',
      ...askingErrors,
    ],
    callers: ['gateway'],
    // An MCP server is asked for its tools before it is connected.
    timeoutMs: 40_000,
  },
  updateService: {
    request: byName.extend({ body: updateServiceBody }),
    response: connectedService,
    errors: [
      'unknown_service',
      'forbidden',
      'conflict',
      'credential_missing',
      'host_not_allowed',
      'invalid_params',
    ],
    callers: ['gateway'],
    timeoutMs: 5_000,
  },
  /** Pins the newest version of the template, or with `dry_run` says what that would change. */
  upgradeService: {
    request: byName.extend({ body: upgradeServiceBody }),
    response: upgradedService,
    errors: [
      'unknown_service',
      'forbidden',
      'conflict',
      'credential_missing',
      'host_not_allowed',
      'invalid_params',
      ...askingErrors,
    ],
    callers: ['gateway'],
    timeoutMs: 40_000,
  },
  /** Asks the MCP server behind a service for its tools, and keeps what it answers. */
  discoverServiceTools: {
    request: byName,
    response: discoveredTools,
    errors: [
      'unknown_service',
      'forbidden',
      'conflict',
      'credential_missing',
      'host_not_allowed',
      ...askingErrors,
    ],
    callers: ['gateway'],
    timeoutMs: 40_000,
  },
  listServiceTools: {
    request: byName.extend({ page: pageRequest }),
    response: pageSchemaOf(serviceTool),
    errors: ['unknown_service'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  getServiceTool: {
    request: byName.extend({ tool: toolName }),
    response: serviceToolDetail,
    errors: ['unknown_service', 'not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  /** `conflict` when the server offers something else than `hash` by now, or nothing that can be used. */
  acceptServiceTool: {
    request: byName.extend({ tool: toolName, hash: acceptToolBody.shape.hash }),
    response: serviceToolDetail,
    errors: ['unknown_service', 'not_found', 'forbidden', 'conflict'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  deleteService: {
    request: byName,
    response: done,
    errors: ['unknown_service', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  listTemplates: {
    request: z.strictObject({
      principal: signedPrincipal,
      page: pageRequest,
      filter: templateFilter.default({}),
    }),
    response: pageSchemaOf(template),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  getTemplate: {
    request: anyTemplate.extend({ version: version.nullable().default(null) }),
    response: templateDetail,
    errors: ['not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  /** As its author saved it. */
  getTemplateDocument: {
    request: ownTemplate.extend({ version: version.nullable().default(null) }),
    response: z.strictObject({ version, openapi: z.string() }),
    errors: ['not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  listTemplateVersions: {
    request: anyTemplate.extend({ page: pageRequest }),
    response: pageSchemaOf(templateVersion),
    errors: ['not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  validateTemplate: {
    request: z.strictObject({ principal: signedPrincipal, openapi: openapiDocument }),
    response: templateReport,
    errors: [],
    callers: ['gateway'],
    timeoutMs: 20_000,
  },
  /** `template_invalid` carries the `report`; nothing is saved then. */
  createTemplate: {
    request: z.strictObject({ principal: signedPrincipal, body: createTemplateBody }),
    response: savedTemplate,
    errors: ['forbidden', 'conflict', 'template_invalid'],
    callers: ['gateway'],
    timeoutMs: 20_000,
  },
  updateTemplate: {
    request: ownTemplate.extend({ body: updateTemplateBody }),
    response: savedTemplate,
    errors: ['not_found', 'forbidden', 'conflict', 'template_invalid'],
    callers: ['gateway'],
    timeoutMs: 20_000,
  },
  publishTemplate: {
    request: ownTemplate.extend({ version }),
    response: template,
    errors: ['not_found', 'forbidden', 'template_invalid'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  /** Disables or enables it. */
  switchTemplate: {
    request: ownTemplate.extend({ isDisabled: z.boolean() }),
    response: template,
    errors: ['not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  /** `conflict` when services use it. */
  deleteTemplate: {
    request: ownTemplate,
    response: done,
    errors: ['not_found', 'forbidden', 'conflict'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  /**
   * Saves a draft made from any OpenAPI document: fetched, sent along, or uploaded in parts. What
   * cannot be imported is `template_invalid` with the report.
   */
  importTemplate: {
    request: z.strictObject({ principal: signedPrincipal, body: importTemplateBody }),
    response: importedTemplate,
    errors: [
      'forbidden',
      'not_found',
      'conflict',
      'invalid_request',
      'invalid_params',
      'template_invalid',
      'upstream_unreachable',
      'upstream_refused_address',
      'upstream_incomplete',
      'upstream_timeout',
      'response_too_large',
    ],
    callers: ['gateway'],
    timeoutMs: 120_000,
  },
  startUpload: {
    request: z.strictObject({ principal: signedPrincipal, text: uploadText }),
    response: upload,
    errors: ['forbidden', 'conflict'],
    callers: ['gateway'],
    timeoutMs: 5_000,
  },
  /** `offset` is the size so far: a part that was lost or sent twice is a `conflict`. */
  continueUpload: {
    request: z.strictObject({
      principal: signedPrincipal,
      id,
      text: uploadText,
      offset: z.int().min(1),
    }),
    response: upload,
    errors: ['not_found', 'conflict', 'too_large'],
    callers: ['gateway'],
    timeoutMs: 5_000,
  },
  /** With how far its import is, whichever replica imports. */
  getUpload: {
    request: z.strictObject({ principal: signedPrincipal, id }),
    response: upload,
    errors: ['not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  ping: {
    request: done,
    response: done,
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1_000,
  },
});
