import { z } from 'zod';

import { compiledCompose } from './composed-mail.ts';
import { credentialDerivation, credentialPart } from './credential-derivation.ts';
import { failureKind } from './failure.ts';
import { discloseEntry, toolOverride, toolPin } from './mcp.ts';
import { scopeParam } from './scope-param.ts';
import { tokenActor } from './oauth-provider.ts';
import { actionServer, templateServer } from './template-server.ts';
import {
  credentialPlace,
  httpMethod,
  injectedEncoding,
  json,
  risk,
  templateTier,
} from './vocabulary.ts';

export type { ScopeParam, ScopePosition } from './scope-param.ts';

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

/**
 * How lists and objects are written (OpenAPI 3.1.0 §4.8.12.2); `json` is a parameter of `content:
 * application/json`. `mail` is a property of the body that becomes a part of a composed message.
 * Components that cannot compose messages do not know this value and refuse the template, so that
 * they never send such a property as it is.
 */
export const parameterStyle = z.enum([
  'simple',
  'label',
  'matrix',
  'form',
  'spaceDelimited',
  'pipeDelimited',
  'deepObject',
  'json',
  'mail',
]);
export type ParameterStyle = z.infer<typeof parameterStyle>;

/** `in: body` is a top-level property of the body, or the whole body when `wholeBody` is set on the action. */
export const compiledParam = z.strictObject({
  /**
   * The name that callers, rules and summaries use; unique within the action, and its placeholder
   * in `path`.
   */
  name: z.string().min(1).max(200),
  /**
   * The name in the request; differs from `name` only where two parameters in different parts of
   * the request share a name.
   */
  wireName: z.string().min(1).max(200),
  in: z.enum(['path', 'query', 'header', 'body']),
  /** Apart from `mail`, not used for properties of the body: `body.parts` says how they are written. */
  style: parameterStyle,
  required: z.boolean(),
  description: z.string().max(4000),
  schema: jsonSchema,
  /**
   * For lists and objects: true writes one pair per member (`a=1&a=2`), false joins the members.
   */
  explode: z.boolean(),
  /** Whether path and query values keep RFC 3986 reserved characters, such as `/` in a path. */
  allowReserved: z.boolean(),
  /**
   * A read that turns an opaque id into a readable name for the approver
   * (docs/writing-templates.md#fields).
   */
  resolve: z.strictObject({ get: z.string().max(1000), pick: z.string().max(200) }).nullable(),
});
export type CompiledParam = z.infer<typeof compiledParam>;

/** How one property of a form body is written (OpenAPI 3.1.0 §4.8.15, Encoding Object). */
export const bodyPart = z.strictObject({
  /** Null when `contentType` or the type of the value decides. */
  style: z.enum(['form', 'spaceDelimited', 'pipeDelimited', 'deepObject']).nullable(),
  explode: z.boolean(),
  allowReserved: z.boolean(),
  contentType: z.string().max(200).nullable(),
  /**
   * True when callers give base64, or `{base64, filename?, content_type?}`, and the request carries
   * the bytes. For a list, this holds for each of its items.
   */
  isBinary: z.boolean(),
});
export type BodyPart = z.infer<typeof bodyPart>;

/**
 * How to see in an answer with a status below 400 that the provider did not do what was asked
 * (docs/writing-templates.md#failures).
 */
export const compiledFailure = z.strictObject({
  /** A jq filter over the JSON body; the call failed when its output is neither false nor null. */
  when: z.string().min(1).max(2000),
  /** The path of the provider's error code, such as `.error`. */
  code: z.string().max(200).optional(),
  /** For each kind of failure, the error codes that mean it. */
  kinds: z.partialRecord(failureKind, z.array(z.string().max(200)).max(100)).optional(),
  /** The kinds of failures after which it is certain that nothing was done. */
  nothingDone: z.array(failureKind).max(failureKind.options.length).optional(),
});
export type CompiledFailure = z.infer<typeof compiledFailure>;

export const compiledAction = z.strictObject({
  key: z.string().regex(/^[A-Za-z][A-Za-z0-9_.-]{0,127}$/),
  method: httpMethod,
  /** Path template below the URL of its server, with `{param}` placeholders. */
  path: z.string().min(1).max(2000),
  /**
   * Set when the action has a server of its own. The template then has the runtime `http_servers`.
   * Absent, not null: this keeps the template's digest.
   */
  server: actionServer.optional(),
  summary: z.string().max(1000),
  description: z.array(descriptionPart).max(100),
  risk,
  scopeParam: scopeParam.nullable(),
  params: z.array(compiledParam).max(500),
  /** JSON Schema of the whole `params` object: closed (`additionalProperties: false`), with `required`. */
  paramsSchema: jsonSchema,
  body: z
    .strictObject({
      mediaType: z.string().max(200),
      /** True when one param named `body` is the body itself, false when params with `in: body` are its properties. */
      wholeBody: z.boolean(),
      required: z.boolean(),
      /**
       * Properties of a form or multipart body that are not written in the default way, by
       * `wireName`.
       */
      parts: z.record(z.string().max(200), bodyPart),
    })
    .nullable(),
  disclose: z.array(discloseEntry).max(50),
  redact: z.array(z.string().max(500)).max(100),
  responseType: z.enum(['json', 'binary']),
  /**
   * OpenAPI's alternatives: any one of these is enough, each with the security schemes that it
   * needs together and their scopes. Absent when any active credential is enough, and in templates
   * that an earlier release compiled.
   */
  security: z
    .array(z.record(z.string().max(100), z.array(z.string().max(300)).max(100)))
    .max(20)
    .optional(),
  /**
   * The scopes of the first alternative that names any, for replicas of an earlier release; null
   * means that any active credential is enough.
   */
  minimumScopes: z.array(z.string().max(300)).max(100).nullable(),
  disabled: z.boolean(),
  /** The mark of OpenAPI, which is shown and changes nothing. Absent, not false, as above. */
  deprecated: z.literal(true).optional(),
  /**
   * Set when one request can contain several operations (GraphQL, batches, JSON-RPC), so that deny
   * rules treat it as any operation of its host.
   */
  multiplex: z.literal(true).optional(),
  /** Replaces the template's own `failure`. Absent, not null: this keeps the template's digest. */
  failure: compiledFailure.optional(),
  /** Set when a message is composed from the params of style `mail`. Absent, not null, as above. */
  compose: compiledCompose.optional(),
});
export type CompiledAction = z.infer<typeof compiledAction>;

const wordsOfMethod = {
  /** The words for this way to connect, for people. */
  label: z.string().max(100).optional(),
  /** Which credential is meant, and where people find it. */
  description: z.string().max(300).optional(),
  /** Who acts when the credential is used; absent when the template does not say. */
  actsAs: tokenActor.optional(),
};

export const authMethod = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('apiKey'),
    scheme: z.string().max(100),
    in: credentialPlace,
    name: z.string().min(1).max(200),
    prefix: z.string().max(100),
    encoding: injectedEncoding,
    defaultSecretName: z.string().max(63),
    /** Set when the secret has several parts. */
    parts: z.array(credentialPart).min(1).max(20).optional(),
    /** Set when what is sent is derived from the parts. */
    derivation: credentialDerivation.optional(),
    ...wordsOfMethod,
  }),
  z.strictObject({
    type: z.literal('oauth2'),
    scheme: z.string().max(100),
    provider: z.string().max(100),
    authorizationUrl: z.string().max(2000),
    tokenUrl: z.string().max(2000),
    scopes: z.array(z.string().max(300)).max(500),
    /** Descriptions of the scopes for people, as far as the template describes them. */
    scopeWords: z.record(z.string().max(300), z.string().max(300)).optional(),
    ...wordsOfMethod,
  }),
]);
export type AuthMethod = z.infer<typeof authMethod>;

export const compiledTemplate = z.strictObject({
  key: z.string().max(63),
  tier: templateTier,
  /** The user or org that owns it; null for the built-in ones. */
  ownerId: z.uuid().nullable(),
  /** Increases with every change of the document, from 1. */
  version: z.int().min(1),
  title: z.string().max(200),
  description: z.string().max(2000),
  category: z.string().max(100),
  /**
   * `http_servers` is `http` with actions that have servers of their own. Components that do not
   * know such servers do not know this value either and refuse the template, so that they never
   * send such an action to the template's server, and never miss a deny rule on it.
   */
  runtime: z.enum(['http', 'http_servers', 'mcp', 'platform']),
  /** Null for the built-in service `http`, whose callers give the full URL. */
  server: templateServer.nullable(),
  /**
   * All servers, when services with different security schemes use different servers. `server` is
   * then the first one, for replicas of an earlier release, which accept services only at that
   * server. Absent, not null: this keeps the template's digest.
   */
  servers: z.array(templateServer).min(1).max(10).optional(),
  /** Hosts of all `servers` without variables and of the servers of actions, as in permission keys. */
  hosts: z.array(z.string().max(262)).max(50),
  /**
   * Further base URLs under which the API can be called; `{name}` stands for any one segment of the
   * path. Only deny rules read them: nothing is sent there, and no credential may go there for them.
   * Absent, not empty: this keeps the template's digest.
   */
  alsoAt: z.array(z.string().max(2000)).min(1).max(10).optional(),
  auth: z.array(authMethod).max(20),
  /**
   * OpenAPI's alternatives: any one of these lists of schemes is enough, and a list needs all its
   * schemes. Empty means no credential.
   */
  security: z.array(z.array(z.string().max(100)).max(5)).max(20),
  actions: z.record(z.string(), compiledAction),
  /** How answers of all actions say that they failed. Absent, not null, as on an action. */
  failure: compiledFailure.optional(),
  /**
   * The phrases by which people ask for an action, by the key of the action. Only the search of the
   * registry reads them: they are in no answer on the bus and in no digest.
   */
  intents: z.record(z.string().max(128), z.array(z.string().min(1).max(80)).max(20)).optional(),
  /**
   * Set for runtime `mcp`. Its actions are the accepted tools; without a set of accepted tools it
   * has no actions.
   */
  mcp: z
    .strictObject({
      /** Path of the endpoint below the server URL. */
      path: z.string().min(1).max(2000),
      autodiscover: z.boolean(),
      /** The settings for single tools, by name. */
      overrides: z.record(z.string().max(128), toolOverride),
      /** The MCP revision that the server supports; null until its tools were listed. */
      protocolVersion: z.string().max(20).nullable(),
      /** The hash of each tool's accepted definition, with the tool's settings. */
      pins: z.record(z.string().max(128), toolPin),
    })
    .optional(),
});
export type CompiledTemplate = z.infer<typeof compiledTemplate>;
