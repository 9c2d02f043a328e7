import { z } from 'zod';

import { awsName } from './credential-derivation.ts';
import { narrowing } from './critical.ts';
import { callFailure } from './failure.ts';
import { riskLimits } from './value-sets.ts';
import {
  credentialPlace,
  httpMethod,
  id,
  json,
  name,
  nameReference,
  timestamp,
} from './vocabulary.ts';

/** A JSON object as an agent sends it; the schema of the action says which members it may have. */
export const params = z.record(z.string().max(200), json);

/**
 * Short enough that the names of service and region fit where people read how the secret is sent.
 */
const shortAwsName = awsName.max(30);

/**
 * A secret that the caller of a raw HTTP request (by method and path or URL) asks the executor to
 * inject (docs/reference/calling.md#shapes).
 */
export const perCallSecret = z
  .strictObject({
    name: nameReference,
    in: credentialPlace,
    key: z.string().min(1).max(200),
    prefix: z.string().max(100).optional(),
    /**
     * Signs the request instead of sending the secret (docs/reference/credentials.md#requests-signed-for-aws).
     * Components that ignored it would send the secret itself.
     */
    sign: narrowing(
      z.strictObject({ type: z.literal('aws_sigv4'), service: shortAwsName, region: shortAwsName }),
    ).optional(),
  })
  .refine(
    ({ sign, in: place, key, prefix }) =>
      sign === undefined ||
      (place === 'header' && key.toLowerCase() === 'authorization' && prefix === undefined),
    { path: ['sign'], message: 'goes with in "header", key "Authorization" and no prefix' },
  );

/** A call of an action of a service: `{service, action, params}` of `POST /v1/actions/call`. */
export const actionCall = z.strictObject({
  kind: z.literal('action'),
  service: nameReference,
  action: z.string().min(1).max(128),
  params,
  filter: z.string().max(2000).nullable(),
});

/**
 * A call by HTTP method and path on a connected service, or by method and full URL (`target`) when
 * `service` is `http`.
 */
export const httpCall = z.strictObject({
  kind: z.literal('http'),
  service: z.union([z.literal('http'), nameReference]),
  method: httpMethod,
  /** A path below the service's base URL, or an absolute URL when `service` is `http`. */
  target: z.string().min(1).max(8192),
  query: z.record(z.string().max(200), z.union([z.string(), z.array(z.string())])),
  headers: z.record(z.string().max(200), z.string().max(8192)),
  body: json,
  secrets: z.array(perCallSecret).max(10),
  /**
   * The connection whose access token is injected; only for calls by full URL. The member is absent
   * when there is none, and not null: this keeps the digests of existing calls.
   */
  connection: nameReference.optional(),
  filter: z.string().max(2000).nullable(),
});

/**
 * One call as its caller asks for it. Permits and permission gaps are bound to its digest
 * (`digestOf`).
 */
export const call = z.discriminatedUnion('kind', [actionCall, httpCall]);
export type Call = z.infer<typeof call>;
export type ActionCall = z.infer<typeof actionCall>;
export type HttpCall = z.infer<typeof httpCall>;

/** Options that do not change which request is sent, and so are not part of the digest. */
export const callOptions = z.strictObject({
  timeoutMs: z.int().min(1).max(110_000),
  maxRisk: z.enum(riskLimits).nullable(),
  /** `Idempotency-Key`; ignored on reads. */
  idempotencyKey: z.string().min(1).max(200).nullable(),
});
export type CallOptions = z.infer<typeof callOptions>;

/**
 * A response body that is kept as a file, because it is binary or too large for the answer. `size`
 * and `sha256` are of the bytes at `download_url`, which are decoded and without injected
 * credentials.
 */
export const storedFile = z.strictObject({
  /**
   * The URL for a `GET` with the caller's own credential, or that of one of its ancestors, before
   * `expires_at`.
   */
  download_url: z.url().max(2_000),
  /** A file name to save the file under: letters, digits, `.`, `_` and `-`. */
  name: z.string().min(1).max(100),
  content_type: z.string().max(200),
  size: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  expires_at: timestamp,
});
export type StoredFile = z.infer<typeof storedFile>;

/** The most images, sounds and blobs that are kept of the answer of one MCP tool. */
export const toolFilesMax = 20;

/** The upstream's answer in its public form (docs/reference/calling.md#answers). */
export const callResult = z.strictObject({
  status_code: z.int().min(100).max(599),
  headers: z.record(z.string(), z.string()),
  /**
   * JSON when the upstream sent JSON, otherwise text; null when the body is empty, kept as `file`,
   * or omitted.
   */
  body: json,
  /**
   * Present when `body` or `filtered_body` has numbers with so many digits that JSON readers would
   * change them, such as ids of 64 bits. These numbers are given as text.
   */
  numbers_as_text: z.literal(true).optional(),
  /** Where the body can be downloaded, when it is binary or too large for `body`. */
  file: storedFile.optional(),
  /**
   * The images, sounds and blobs in the answer of an MCP tool. `at` is a JSON pointer to the place
   * in `body` that each was taken from; `body` has `omitted` at that place.
   */
  files: z
    .array(storedFile.extend({ at: z.string().max(100) }))
    .max(toolFilesMax)
    .optional(),
  duration_ms: z.number(),
  filtered_body: json.optional(),
  filter_error: z.string().max(500).optional(),
  /**
   * Why the answer has neither `body` nor `file` although the upstream sent a body: it was larger
   * than may be kept, was cut off, or could not be stored.
   */
  body_omitted: z
    .strictObject({
      reason: z.enum(['too_large', 'incomplete', 'encoded', 'not_stored']),
      content_type: z.string().max(200),
      size: z.int().nullable(),
    })
    .optional(),
  /** The params of a call for the next page, when the upstream said that there is one. */
  next: params.optional(),
  /** Set when the upstream did not do what was asked. */
  failure: callFailure.optional(),
});
export type CallResult = z.infer<typeof callResult>;

export const templateReference = z.strictObject({
  key: name.or(z.enum(['http', 'platform'])),
  tier: z.enum(['user', 'org', 'global']),
  ownerId: id.nullable(),
  version: z.int().min(1),
  /**
   * For runtime `mcp`: the set of accepted tools of one connected service. Its version increases
   * with every change of the set.
   */
  toolset: z.strictObject({ serviceId: id, version: z.int().min(1) }).optional(),
});
export type TemplateReference = z.infer<typeof templateReference>;
