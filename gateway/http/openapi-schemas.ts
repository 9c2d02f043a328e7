import { z } from 'zod';

import { httpRoutes } from '#contracts/all';
import { auditRecord, auditedRequest, disclosedField, shownCredential } from '#contracts/audit';
import { callResult, perCallSecret } from '#contracts/call';
import { calledReply, deniedReply } from '#contracts/http/actions';
import {
  approvalResponse,
  execution,
  pendingReply,
  shortenedValue,
  shownRequest,
} from '#contracts/http/approvals';
import { fileBody } from '#contracts/http/define';
import type { RouteSpec } from '#contracts/http/define';
import { errorEnvelope } from '#contracts/http/errors';
import { agentKey, createdAgentKey, identity, me } from '#contracts/http/identities';
import { rule } from '#contracts/http/rules';
import { secret, secretVersion } from '#contracts/http/secrets';
import { connectedService, serviceDetail } from '#contracts/http/services';
import { importedTemplate, upload } from '#contracts/http/template-import';
import {
  actionDescription,
  finding,
  savedTemplate,
  template,
  templateDetail,
  templateDifference,
  templateReport,
  templateVersion,
} from '#contracts/http/templates';
import { createdWebhook, delivery, webhook } from '#contracts/http/webhooks';
import { derivedKey, suggestedTier } from '#contracts/permit';
import { identityReference, json, shownIdentity } from '#contracts/vocabulary';

export type JsonSchema = Record<string, unknown>;

/**
 * The schemas with their own names in the document. All other schemas of bodies and answers are
 * named after their routes.
 */
const namedSchemas: Readonly<Record<string, z.ZodType>> = {
  Json: json,
  Error: errorEnvelope,
  IdentityReference: identityReference,
  ShownIdentity: shownIdentity,
  Identity: identity,
  Me: me,
  AgentKey: agentKey,
  CreatedAgentKey: createdAgentKey,
  Secret: secret,
  SecretVersion: secretVersion,
  ActionDescription: actionDescription,
  ConnectedService: connectedService,
  ServiceDetail: serviceDetail,
  Template: template,
  TemplateDetail: templateDetail,
  SavedTemplate: savedTemplate,
  TemplateVersion: templateVersion,
  TemplateDifference: templateDifference,
  TemplateReport: templateReport,
  Finding: finding,
  ImportedTemplate: importedTemplate,
  Upload: upload,
  CallResult: callResult,
  PerCallSecret: perCallSecret,
  CalledReply: calledReply,
  DeniedReply: deniedReply,
  PendingApproval: pendingReply,
  ShortenedValue: shortenedValue,
  ShownCredential: shownCredential,
  AuditedRequest: auditedRequest,
  ShownRequest: shownRequest,
  DisclosedField: disclosedField,
  DerivedKey: derivedKey,
  SuggestedTier: suggestedTier,
  Execution: execution,
  ApprovalResponse: approvalResponse,
  Rule: rule,
  Webhook: webhook,
  CreatedWebhook: createdWebhook,
  Delivery: delivery,
  AuditRecord: auditRecord,
};

export interface Schemas {
  readonly components: Readonly<Record<string, JsonSchema>>;
  /** Returns the `$ref` of a schema that is the body or an answer of a route. */
  refTo(schema: z.ZodType): JsonSchema;
}

/** Turns every schema in the route table into a component of the OpenAPI document. */
export function createSchemas(): Schemas {
  const registry = z.registry<{ id: string }>();
  const schemaNames = new Map<z.ZodType, string>();
  const addSchema = (name: string, schema: z.ZodType) => {
    if (schemaNames.has(schema)) return;
    schemaNames.set(schema, name);
    registry.add(schema, { id: name });
  };
  for (const [name, schema] of Object.entries(namedSchemas)) addSchema(name, schema);
  const requestNames = new Set<string>();
  const routes: readonly [string, RouteSpec][] = Object.entries(httpRoutes);
  for (const [name, { body, responses }] of routes) {
    const title = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    if (body !== undefined) {
      addSchema(`${title}Body`, body);
      requestNames.add(schemaNames.get(body) ?? '');
    }
    for (const schema of Object.values(responses))
      if (schema !== null && schema !== fileBody) addSchema(`${title}Reply`, schema);
  }

  const { schemas } = z.toJSONSchema(registry, { ...generationOptions, uri: refOf });
  const components = Object.fromEntries(
    Object.entries(schemas as Record<string, JsonSchema>).map(([name, schema]) => [
      name,
      tidySchema(schema),
    ]),
  );
  const requestComponents = findReachableSchemas(components, requestNames);
  for (const [name, schema] of Object.entries(components))
    if (!requestComponents.has(name)) allowOtherMembers(schema);

  return {
    components: Object.fromEntries(
      Object.entries(components).toSorted(([left], [right]) => (left < right ? -1 : 1)),
    ),
    refTo: (schema) => ({ $ref: refOf(schemaNames.get(schema) ?? '') }),
  };
}

/** Returns one parameter per member of a query or path schema. */
export function parametersOf(schema: z.ZodType): {
  readonly name: string;
  readonly required: boolean;
  readonly schema: JsonSchema;
}[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, generationOptions);
  return Object.entries(properties).map(([name, member]) => ({
    name,
    required: required.includes(name),
    schema: member as JsonSchema,
  }));
}

const generationOptions = {
  target: 'draft-2020-12',
  io: 'input',
  override({ jsonSchema }: { jsonSchema: JsonSchema }) {
    // The pattern of a UUID or date is left out. The format says enough, and the pattern of a date
    // is longer than most schemas.
    if (jsonSchema['format'] === 'uuid' || jsonSchema['format'] === 'date-time') {
      delete jsonSchema['pattern'];
    }
    const { pattern } = jsonSchema;
    if (typeof pattern === 'string') jsonSchema['pattern'] = toPortablePattern(pattern);
  },
} as const;

/**
 * Rewrites syntax that only JavaScript understands, or only in Unicode mode, so that other
 * validators accept the same values.
 */
function toPortablePattern(pattern: string): string {
  return pattern
    .replaceAll('\\P{Cc}', '[^\\u0000-\\u001f\\u007f-\\u009f]')
    .replaceAll('[^]', '[\\s\\S]');
}

function refOf(name: string): string {
  return `#/components/schemas/${name}`;
}

/** Removes `$id` and `$schema`: a component of an OpenAPI document needs neither. */
function tidySchema({ $schema: _schema, $id: _id, ...schema }: JsonSchema): JsonSchema {
  return schema;
}

function findReachableSchemas(
  components: Readonly<Record<string, JsonSchema>>,
  startNames: ReadonlySet<string>,
): Set<string> {
  const reachableNames = new Set(startNames);
  for (const name of reachableNames) {
    const references = JSON.stringify(components[name]).matchAll(
      /"#\/components\/schemas\/(\w+)"/g,
    );
    // The loop also visits members that are added to the Set while it runs.
    for (const [, reference = ''] of references) reachableNames.add(reference);
  }
  return reachableNames;
}

/**
 * Allows additional members in the schema of an answer, so that clients accept members that a later
 * release adds (docs/reference/limits.md#compatibility).
 */
function allowOtherMembers(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  const members = schema as JsonSchema;
  if (members['additionalProperties'] === false) delete members['additionalProperties'];
  for (const member of Object.values(members)) allowOtherMembers(member);
}
