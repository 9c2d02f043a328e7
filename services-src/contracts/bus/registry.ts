import { z } from 'zod';

import { templateReference } from '../call.ts';
import { narrowing } from '../critical.ts';
import { defineContract } from '../define.ts';
import { outboxPing } from '../events.ts';
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
import { discoveryErrors } from '../mcp.ts';
import { tokenActor } from '../oauth-provider.ts';
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

/** A connected service with the fields that policy and executor need. */
export const serviceRecord = z.strictObject({
  id,
  /** The name as in permission keys: `github`, or `org/github` for the org's. */
  name: z.string().max(67),
  tier,
  ownerId: id.nullable(),
  template: templateReference,
  status: z.enum(['ready', 'needs_credentials', 'needs_reauth', 'disabled']),
  autoAllowReads: z.boolean(),
  baseUrl: z.string().max(2000),
  hosts: z.array(host).max(50),
  /** The secret's name for each security scheme (`github_token`, `org/github_token`). */
  secrets: z.record(z.string(), nameReference),
  /**
   * The connection for the service's OAuth schemes (`github`, `org/github`); null when it uses no
   * OAuth scheme.
   */
  connection: nameReference.nullable(),
  /**
   * The security schemes of the alternative with which the service is connected. Absent for
   * services that were connected before this member existed.
   */
  schemes: z.array(z.string().max(100)).max(5).optional(),
});
export type ServiceRecord = z.infer<typeof serviceRecord>;

const emptyReply = z.strictObject({});
export const secretUsingServicesMax = 1_000;
const requestByName = z.strictObject({ principal: signedPrincipal, name: nameReference });
const templateKey = z.string().max(63);
/** Names a template of a user or of the org. With the tier `user` it is the caller's own. */
const ownTemplateRequest = z.strictObject({ principal: signedPrincipal, key: templateKey, tier });
const version = z.int().min(1);
const toolName = z.string().min(1).max(128);
/**
 * Names a template. A tier of null means the most specific template that the caller may see: the
 * user's before the org's before the global one.
 */
const anyTemplateRequest = z.strictObject({
  principal: signedPrincipal,
  key: templateKey,
  tier: templateTier.nullable().default(null),
});

/** Keeps templates and the services that are connected from them. */
export const registry = defineContract('registry', {
  /**
   * Finds a service by name: the user's own service first, then the org's; `org/name` means the
   * org's. The error `unknown_service` carries `available` (at most 50 names) and `did_you_mean`.
   */
  resolveService: {
    request: z.strictObject({ orgId: id, userId: id, name: nameReference }),
    response: serviceRecord,
    errors: ['unknown_service'],
    callers: ['policy', 'executor'],
    timeoutMs: 2_000,
    repeatable: true,
  },
  /**
   * One compiled version of a template: up to 3 MB, which take a tenth of a second to parse. A
   * version never changes, so callers cache it.
   */
  getCompiledTemplate: {
    request: z.strictObject({ orgId: id, template: templateReference }),
    response: compiledTemplate,
    errors: ['not_found'],
    callers: ['policy', 'executor'],
    timeoutMs: 3_000,
    hot: true,
    repeatable: true,
  },
  /**
   * How a template, which the caller may connect, asks for access to an account; throws `conflict`
   * when the template does not use OAuth.
   */
  describeTemplateOauth: {
    request: z.strictObject({
      principal: signedPrincipal,
      key: templateKey,
      /** True for a connection of the org, which must not depend on one user's own template. */
      isForOrg: z.boolean(),
      /** The security scheme; by default the first one of the template that uses OAuth. */
      scheme: narrowing(z.string().max(100)).optional(),
    }),
    response: z.strictObject({
      actsAs: tokenActor.nullable().optional(),
      /** The security scheme that was taken. */
      scheme: z.string().max(100).optional(),
      provider: z.string().max(100),
      authorizationUrl: z.string().max(2000),
      tokenUrl: z.string().max(2000),
      scopes: z.array(z.string().max(300)).max(500),
      hosts: z.array(host).max(50),
      /** The executor asks policy whether these are the template's hosts. */
      template: templateReference,
    }),
    errors: ['not_found', 'conflict'],
    callers: ['executor'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  /**
   * Reports that a call used the tools of this MCP server. `isTold` means that the upstream's
   * answer said or showed that the tools changed. The registry lists the tools again if that is
   * due, and answers afterwards. Callers do not wait for the answer: after a lost report, the tools
   * are listed within the hour anyway.
   */
  followTools: {
    request: z.strictObject({ orgId: id, serviceId: id, isTold: z.boolean() }),
    response: emptyReply,
    errors: [],
    callers: ['executor'],
    timeoutMs: 30_000,
    repeatable: false,
  },
  /**
   * The templates, and the connected services of the user and the org, to which this host belongs:
   * it is one of their hosts, a host of another root of their API, or a host of their provider.
   * Deny rules on any of them apply (docs/reference/permissions.md#what-a-deny-reaches). For a
   * service found by another root, `template` is the newest version, which names that root.
   */
  findByHost: {
    request: z.strictObject({ orgId: id, userId: id, host }),
    response: z.strictObject({
      services: z.array(serviceRecord).max(200),
      templates: z.array(templateReference).max(200),
      /**
       * True when there are more services or templates than the answer lists. The org's services
       * come first.
       */
      isCut: z.boolean(),
    }),
    errors: [],
    callers: ['policy'],
    timeoutMs: 2_000,
    repeatable: true,
  },
  /**
   * Connected services, to find which of them a deny rule stops: those that the user can call, or
   * those that other users of the org connected for themselves. 200 a page; `after` is the last
   * service of the page before.
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
    repeatable: true,
  },
  /**
   * Services that use these secrets. With a `userId`, only services that this user can use; with
   * null, all services of the org. At most 1,000 services are searched.
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
    repeatable: true,
  },
  /**
   * Actions of connected services that match a query, best first; for an empty query, the services
   * themselves. `catalog` adds templates that are not connected. `service` limits the answer to the
   * actions of that service; `service` and `action` together give the row of that action alone.
   */
  search: {
    request: z.strictObject({
      principal: signedPrincipal,
      query: z.string().max(200),
      limit: z.int().min(1).max(searchLimits.max),
      catalog: z.boolean(),
      service: narrowing(nameReference).optional(),
      action: narrowing(z.string().min(1).max(128)).optional(),
    }),
    response: searchReply,
    errors: ['unknown_service', 'unknown_action'],
    callers: ['gateway', 'executor'],
    timeoutMs: 5_000,
    repeatable: true,
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
    repeatable: true,
  },
  getService: {
    request: requestByName,
    response: serviceDetail,
    errors: ['unknown_service'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: true,
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
      'not_in_your_chain',
      'expired',
      ...discoveryErrors,
    ],
    callers: ['gateway'],
    // Connecting a service may have to wait until its MCP server has listed its tools.
    timeoutMs: 40_000,
    repeatable: false,
  },
  updateService: {
    request: requestByName.extend({ body: updateServiceBody }),
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
    repeatable: false,
  },
  /**
   * Moves a service to the newest version of its template. With `dry_run`, reports what would
   * change.
   */
  upgradeService: {
    request: requestByName.extend({ body: upgradeServiceBody }),
    response: upgradedService,
    errors: [
      'unknown_service',
      'forbidden',
      'conflict',
      'credential_missing',
      'host_not_allowed',
      'invalid_params',
      ...discoveryErrors,
    ],
    callers: ['gateway'],
    timeoutMs: 40_000,
    repeatable: false,
  },
  /** Asks the MCP server behind a service for its tools, and stores the answer. */
  discoverServiceTools: {
    request: requestByName,
    response: discoveredTools,
    errors: [
      'unknown_service',
      'forbidden',
      'conflict',
      'credential_missing',
      'host_not_allowed',
      ...discoveryErrors,
    ],
    callers: ['gateway'],
    timeoutMs: 40_000,
    repeatable: false,
  },
  listServiceTools: {
    request: requestByName.extend({ page: pageRequest }),
    response: pageSchemaOf(serviceTool),
    errors: ['unknown_service'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  getServiceTool: {
    request: requestByName.extend({ tool: toolName }),
    response: serviceToolDetail,
    errors: ['unknown_service', 'not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  /** Throws `conflict` when the server's tool no longer has this `hash`, or cannot be used. */
  acceptServiceTool: {
    request: requestByName.extend({ tool: toolName, hash: acceptToolBody.shape.hash }),
    response: serviceToolDetail,
    errors: ['unknown_service', 'not_found', 'forbidden', 'conflict'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  deleteService: {
    request: requestByName,
    response: emptyReply,
    errors: ['unknown_service', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
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
    repeatable: true,
  },
  getTemplate: {
    request: anyTemplateRequest.extend({ version: version.nullable().default(null) }),
    response: templateDetail,
    errors: ['not_found'],
    callers: ['gateway', 'executor'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  /** The document as its author saved it. */
  getTemplateDocument: {
    request: ownTemplateRequest.extend({ version: version.nullable().default(null) }),
    response: z.strictObject({ version, openapi: z.string() }),
    errors: ['not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  listTemplateVersions: {
    request: anyTemplateRequest.extend({ page: pageRequest }),
    response: pageSchemaOf(templateVersion),
    errors: ['not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  validateTemplate: {
    request: z.strictObject({ principal: signedPrincipal, openapi: openapiDocument }),
    response: templateReport,
    errors: [],
    callers: ['gateway'],
    timeoutMs: 20_000,
    repeatable: false,
  },
  /** Saves a new template. On `template_invalid`, which carries the `report`, nothing is saved. */
  createTemplate: {
    request: z.strictObject({ principal: signedPrincipal, body: createTemplateBody }),
    response: savedTemplate,
    errors: ['forbidden', 'conflict', 'template_invalid'],
    callers: ['gateway'],
    timeoutMs: 20_000,
    repeatable: false,
  },
  updateTemplate: {
    request: ownTemplateRequest.extend({ body: updateTemplateBody }),
    response: savedTemplate,
    errors: ['not_found', 'forbidden', 'conflict', 'template_invalid'],
    callers: ['gateway'],
    timeoutMs: 20_000,
    repeatable: false,
  },
  publishTemplate: {
    request: ownTemplateRequest.extend({ version }),
    response: template,
    errors: ['not_found', 'forbidden', 'template_invalid'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  /** Disables or enables a template. */
  switchTemplate: {
    request: ownTemplateRequest.extend({ isDisabled: z.boolean() }),
    response: template,
    errors: ['not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  /** Throws `conflict` when services use the template. */
  deleteTemplate: {
    request: ownTemplateRequest,
    response: emptyReply,
    errors: ['not_found', 'forbidden', 'conflict'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  /**
   * Saves a draft made from any OpenAPI document, which is fetched, sent in the request, or
   * uploaded in parts. A document that cannot be imported fails as `template_invalid` with the
   * report.
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
    repeatable: false,
  },
  startUpload: {
    request: z.strictObject({ principal: signedPrincipal, text: uploadText }),
    response: upload,
    errors: ['forbidden', 'conflict'],
    callers: ['gateway'],
    timeoutMs: 5_000,
    repeatable: false,
  },
  /**
   * `offset` is the size of the parts uploaded so far. With another offset, because a part was lost
   * or sent twice, it throws `conflict`.
   */
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
    repeatable: false,
  },
  /**
   * An upload and the progress of its import. Any replica can answer, whichever runs the import.
   */
  getUpload: {
    request: z.strictObject({ principal: signedPrincipal, id }),
    response: upload,
    errors: ['not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  ping: {
    request: emptyReply,
    response: outboxPing,
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1_000,
    repeatable: false,
  },
});
