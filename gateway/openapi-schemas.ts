import { z } from 'zod';

import { httpRoutes } from '#contracts/all';
import { auditRecord, auditedRequest, disclosedField, shownCredential } from '#contracts/audit';
import { callResult, perCallSecret } from '#contracts/call';
import { calledReply, deniedReply } from '#contracts/http/actions';
import {
  approvalResponse,
  execution,
  pendingApproval,
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
import { identityReference, json } from '#contracts/vocabulary';

export type JsonSchema = Record<string, unknown>;

/** Schemas that have a name of their own in the document. Bodies and answers of routes get theirs from the route. */
const named: Readonly<Record<string, z.ZodType>> = {
  Json: json,
  Error: errorEnvelope,
  IdentityReference: identityReference,
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
  PendingApproval: pendingApproval,
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
  /** `$ref` of a schema that a route uses as a body or an answer. */
  refTo(schema: z.ZodType): JsonSchema;
}

/** Every schema of the route table as a component, each once. */
export function createSchemas(): Schemas {
  const registry = z.registry<{ id: string }>();
  const names = new Map<z.ZodType, string>();
  const add = (name: string, schema: z.ZodType) => {
    if (names.has(schema)) return;
    names.set(schema, name);
    registry.add(schema, { id: name });
  };
  for (const [name, schema] of Object.entries(named)) add(name, schema);
  const requests = new Set<string>();
  const routes: readonly [string, RouteSpec][] = Object.entries(httpRoutes);
  for (const [name, { body, responses }] of routes) {
    const title = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    if (body !== undefined) {
      add(`${title}Body`, body);
      requests.add(names.get(body) ?? '');
    }
    for (const schema of Object.values(responses))
      if (schema !== null && schema !== fileBody) add(`${title}Reply`, schema);
  }

  const { schemas } = z.toJSONSchema(registry, { ...generation, uri: refOf });
  const components = Object.fromEntries(
    Object.entries(schemas as Record<string, JsonSchema>).map(([name, schema]) => [
      name,
      tidy(schema),
    ]),
  );
  const asked = reachable(components, requests);
  for (const [name, schema] of Object.entries(components)) if (!asked.has(name)) loosen(schema);

  return {
    components: Object.fromEntries(
      Object.entries(components).toSorted(([left], [right]) => (left < right ? -1 : 1)),
    ),
    refTo: (schema) => ({ $ref: refOf(names.get(schema) ?? '') }),
  };
}

/** The members of a query or path object: one schema per parameter. */
export function parametersOf(schema: z.ZodType): {
  readonly name: string;
  readonly required: boolean;
  readonly schema: JsonSchema;
}[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, generation);
  return Object.entries(properties).map(([name, member]) => ({
    name,
    required: required.includes(name),
    schema: member as JsonSchema,
  }));
}

const generation = {
  target: 'draft-2020-12',
  io: 'input',
  override({ jsonSchema }: { jsonSchema: JsonSchema }) {
    // The format says it; the pattern of a date alone is longer than most schemas.
    if (jsonSchema['format'] === 'uuid' || jsonSchema['format'] === 'date-time') {
      delete jsonSchema['pattern'];
    }
  },
} as const;

function refOf(name: string): string {
  return `#/components/schemas/${name}`;
}

/** Inside one OpenAPI document a component has no identifier or dialect of its own. */
function tidy({ $schema: _schema, $id: _id, ...schema }: JsonSchema): JsonSchema {
  return schema;
}

function reachable(
  components: Readonly<Record<string, JsonSchema>>,
  from: ReadonlySet<string>,
): Set<string> {
  const found = new Set(from);
  for (const name of found) {
    const references = JSON.stringify(components[name]).matchAll(
      /"#\/components\/schemas\/(\w+)"/g,
    );
    // A set's iteration reaches what is added on the way.
    for (const [, reference = ''] of references) found.add(reference);
  }
  return found;
}

/** Lets clients accept members that they do not know yet (docs/reference/limits.md#compatibility). */
function loosen(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  const members = schema as JsonSchema;
  if (members['additionalProperties'] === false) delete members['additionalProperties'];
  for (const member of Object.values(members)) loosen(member);
}
