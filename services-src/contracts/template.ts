import { z } from 'zod';

import { discloseEntry, toolOverride, toolPin } from './mcp.ts';
import { httpMethod, json, risk, templateTier } from './vocabulary.ts';

/**
 * A template compiled once per version into plain data (docs/reference/templates.md#loading).
 * Policy and executor hold it by (tier, owner, key, version); nothing in it is code.
 */

/** `Create issue {title}[ with labels {labels}]`: an optional part is dropped when one of its parameters is absent. */
const simplePart = z.union([
  z.strictObject({ text: z.string() }),
  z.strictObject({ param: z.string() }),
]);
export const descriptionPart = z.union([
  simplePart,
  z.strictObject({ optional: z.array(simplePart).max(50) }),
]);
export type DescriptionPart = z.infer<typeof descriptionPart>;

export const jsonSchema = z.record(z.string(), json);

/** How lists and objects are written (OpenAPI 3.1.0 §4.8.12.2); `json` is a parameter of `content: application/json`. */
export const parameterStyle = z.enum([
  'simple',
  'label',
  'matrix',
  'form',
  'spaceDelimited',
  'pipeDelimited',
  'deepObject',
  'json',
]);
export type ParameterStyle = z.infer<typeof parameterStyle>;

/** `in: body` is a top-level property of the body, or the whole body when `wholeBody` is set on the action. */
export const compiledParam = z.strictObject({
  /** What callers, rules and summaries call it; unique within the action, and its placeholder in `path`. */
  name: z.string().min(1).max(200),
  /** What the request calls it: another name only where two places of the operation share one. */
  wireName: z.string().min(1).max(200),
  in: z.enum(['path', 'query', 'header', 'body']),
  /** Of a property of the body: how it is written is in `body.parts`. */
  style: parameterStyle,
  required: z.boolean(),
  description: z.string().max(4000),
  schema: jsonSchema,
  /** Lists and objects: one pair per member (`a=1&a=2`) when true, joined when false. */
  explode: z.boolean(),
  /** Path and query values keep RFC 3986 reserved characters (a `/` in a path, for one). */
  allowReserved: z.boolean(),
  /** Turns an opaque id into a readable name for the approver (docs/writing-templates.md#fields). */
  resolve: z.strictObject({ get: z.string().max(1000), pick: z.string().max(200) }).nullable(),
});
export type CompiledParam = z.infer<typeof compiledParam>;

/** How one property of a form body is written (OpenAPI 3.1.0 §4.8.15, Encoding Object). */
export const bodyPart = z.strictObject({
  /** Null: by `contentType`, or by what the value is. */
  style: z.enum(['form', 'spaceDelimited', 'pipeDelimited', 'deepObject']).nullable(),
  explode: z.boolean(),
  allowReserved: z.boolean(),
  contentType: z.string().max(200).nullable(),
  /** Callers give base64, or `{base64, filename?, content_type?}`, the request carries the bytes; of a list, each of its items. */
  isBinary: z.boolean(),
});
export type BodyPart = z.infer<typeof bodyPart>;

export const compiledAction = z.strictObject({
  key: z.string().regex(/^[A-Za-z][A-Za-z0-9_.-]{0,127}$/),
  method: httpMethod,
  /** Path template below the server URL, with `{param}` placeholders. */
  path: z.string().min(1).max(2000),
  summary: z.string().max(1000),
  description: z.array(descriptionPart).max(100),
  risk,
  scopeParam: z.string().max(200).nullable(),
  params: z.array(compiledParam).max(500),
  /** JSON Schema of the whole `params` object: closed (`additionalProperties: false`), with `required`. */
  paramsSchema: jsonSchema,
  body: z
    .strictObject({
      mediaType: z.string().max(200),
      /** True when one param named `body` is the body itself, false when params with `in: body` are its properties. */
      wholeBody: z.boolean(),
      required: z.boolean(),
      /** Properties of a form or multipart body that are not written the default way, by `wireName`. */
      parts: z.record(z.string().max(200), bodyPart),
    })
    .nullable(),
  disclose: z.array(discloseEntry).max(50),
  redact: z.array(z.string().max(500)).max(100),
  responseType: z.enum(['json', 'binary']),
  /** Minimum OAuth scopes; null means no minimum beyond an active credential. */
  minimumScopes: z.array(z.string().max(300)).max(100).nullable(),
  disabled: z.boolean(),
  /** One operation carries others (GraphQL, batches, JSON-RPC): to deny rules on its host it may be any. */
  multiplex: z.literal(true).optional(),
});
export type CompiledAction = z.infer<typeof compiledAction>;

export const authMethod = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('apiKey'),
    scheme: z.string().max(100),
    in: z.enum(['header', 'query']),
    name: z.string().min(1).max(200),
    prefix: z.string().max(100),
    /** `basic`: the secret is `user:password` and is sent base64-encoded after the prefix. */
    encoding: z.enum(['raw', 'basic']),
    defaultSecretName: z.string().max(63),
  }),
  z.strictObject({
    type: z.literal('oauth2'),
    scheme: z.string().max(100),
    provider: z.string().max(100),
    authorizationUrl: z.string().max(2000),
    tokenUrl: z.string().max(2000),
    scopes: z.array(z.string().max(300)).max(500),
  }),
]);
export type AuthMethod = z.infer<typeof authMethod>;

export const serverVariable = z.strictObject({
  name: z.string().max(100),
  description: z.string().max(1000),
  default: z.string().max(200).nullable(),
  enum: z.array(z.string().max(200)).max(200).nullable(),
});

export const compiledTemplate = z.strictObject({
  key: z.string().max(63),
  tier: templateTier,
  /** The user or org that owns it; null for the built-in ones. */
  ownerId: z.uuid().nullable(),
  /** Counts up with every change of the document, from 1. */
  version: z.int().min(1),
  title: z.string().max(200),
  description: z.string().max(2000),
  category: z.string().max(100),
  runtime: z.enum(['http', 'mcp', 'platform']),
  /** Base URL with `{variable}` parts; null for the pseudo-service `http`, whose callers bring the full URL. */
  server: z
    .strictObject({
      url: z.string().max(2000),
      variables: z.array(serverVariable).max(20),
      /** A self-hosted product: the connecting admin may give another base URL. */
      baseUrlAllowed: z.boolean(),
    })
    .nullable(),
  /** Hosts of all `servers` without variables, as they stand in permission keys. */
  hosts: z.array(z.string().max(262)).max(50),
  auth: z.array(authMethod).max(20),
  /** OpenAPI's AND inside OR: any one of these lists of schemes is enough; empty means no credential. */
  security: z.array(z.array(z.string().max(100)).max(5)).max(20),
  actions: z.record(z.string(), compiledAction),
  /** Of runtime `mcp`; its actions are the accepted tools, and there are none without a toolset. */
  mcp: z
    .strictObject({
      /** Path of the endpoint below the server URL. */
      path: z.string().min(1).max(2000),
      autodiscover: z.boolean(),
      /** What the template says of single tools, by name. */
      overrides: z.record(z.string().max(128), toolOverride),
      /** The revision the server was found to speak; null until its tools were discovered. */
      protocolVersion: z.string().max(20).nullable(),
      /** What was accepted, by tool. */
      pins: z.record(z.string().max(128), toolPin),
    })
    .optional(),
});
export type CompiledTemplate = z.infer<typeof compiledTemplate>;
