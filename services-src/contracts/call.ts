import { z } from 'zod';

import { httpMethod, id, json, name, nameReference, timestamp } from './vocabulary.ts';

/** A JSON object as an agent sends it; what may be in it is the action's own schema. */
export const params = z.record(z.string().max(200), json);

/** A secret that a verb or raw call asks to have injected (docs/reference/calling.md#shapes). */
export const perCallSecret = z.strictObject({
  name: nameReference,
  in: z.enum(['header', 'query']),
  key: z.string().min(1).max(200),
  prefix: z.string().max(100).optional(),
});

/** Service plus action: `{service, action, params}` of `POST /v1/actions/call`. */
export const actionCall = z.strictObject({
  kind: z.literal('action'),
  service: nameReference,
  action: z.string().min(1).max(128),
  params,
  filter: z.string().max(2000).nullable(),
});

/** A verb call on a connected service, or raw HTTP when `service` is `http` and `target` the full URL. */
export const httpCall = z.strictObject({
  kind: z.literal('http'),
  service: z.union([z.literal('http'), nameReference]),
  method: httpMethod,
  /** A path below the service's base URL, or for `http` an absolute URL. */
  target: z.string().min(1).max(8192),
  query: z.record(z.string().max(200), z.union([z.string(), z.array(z.string())])),
  headers: z.record(z.string().max(200), z.string().max(8192)),
  body: json,
  secrets: z.array(perCallSecret).max(10),
  /** The connection whose access token goes along; raw HTTP only. Absent, not null, where there is none: digests of calls stay as they are. */
  connection: nameReference.optional(),
  filter: z.string().max(2000).nullable(),
});

/** What is asked for. Its digest (`digestOf`) is what permits and gaps are bound to. */
export const call = z.discriminatedUnion('kind', [actionCall, httpCall]);
export type Call = z.infer<typeof call>;
export type ActionCall = z.infer<typeof actionCall>;
export type HttpCall = z.infer<typeof httpCall>;

/** How it is asked for: not part of the digest. */
export const callOptions = z.strictObject({
  timeoutMs: z.int().min(1).max(110_000),
  maxRisk: z.enum(['read', 'write']).nullable(),
  /** `Idempotency-Key`; ignored on reads. */
  idempotencyKey: z.string().min(1).max(200).nullable(),
});
export type CallOptions = z.infer<typeof callOptions>;

/**
 * A body that is kept as a file: binary, or larger than fits into the answer. `size` and `sha256` are
 * of what `download_url` gives, which is decoded and without injected credentials.
 */
export const storedFile = z.strictObject({
  /** `GET` it with the caller's own credential, or that of one of its ancestors, before `expires_at`. */
  download_url: z.url().max(2_000),
  /** What to save it as: letters, digits, `.`, `_` and `-`. */
  name: z.string().min(1).max(100),
  content_type: z.string().max(200),
  size: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  expires_at: timestamp,
});
export type StoredFile = z.infer<typeof storedFile>;

/** How many images, sounds and blobs of one MCP tool's answer are kept. */
export const toolFilesMax = 20;

/** The upstream's answer in its public form (docs/reference/calling.md#answers). */
export const callResult = z.strictObject({
  status_code: z.int().min(100).max(599),
  headers: z.record(z.string(), z.string()),
  /** JSON when the upstream sent JSON, else text; null when empty, kept as `file`, or omitted. */
  body: json,
  /** Where the body is, when it is binary or too large to be in `body`. */
  file: storedFile.optional(),
  /**
   * Of an MCP tool: the images, sounds and blobs of its answer. `at` is a JSON pointer to where each
   * stood in `body`, which says of them what is `omitted`.
   */
  files: z
    .array(storedFile.extend({ at: z.string().max(100) }))
    .max(toolFilesMax)
    .optional(),
  duration_ms: z.number(),
  filtered_body: json.optional(),
  filter_error: z.string().max(500).optional(),
  /**
   * Why there is neither `body` nor `file` although the upstream sent something: more than may be
   * kept, cut off on its way, or nowhere to keep it.
   */
  body_omitted: z
    .strictObject({
      reason: z.enum(['too_large', 'incomplete', 'encoded', 'not_stored']),
      content_type: z.string().max(200),
      size: z.int().nullable(),
    })
    .optional(),
  /** Params of the following call when the upstream said there is a next page. */
  next: params.optional(),
});
export type CallResult = z.infer<typeof callResult>;

export const templateReference = z.strictObject({
  key: name.or(z.enum(['http', 'platform'])),
  tier: z.enum(['user', 'org', 'global']),
  ownerId: id.nullable(),
  version: z.int().min(1),
  /** Of runtime `mcp`: the accepted tools of one connected service, counted up with every change of them. */
  toolset: z.strictObject({ serviceId: id, version: z.int().min(1) }).optional(),
});
export type TemplateReference = z.infer<typeof templateReference>;
