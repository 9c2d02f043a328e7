import { z } from 'zod';

import { host, id, name, pageSchemaOf, pageQuery, tier, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

/** A named, versioned value of the vault; no answer carries the value (docs/reference/credentials.md#secrets). */
export const secret = z.strictObject({
  id,
  name: z.string(),
  tier,
  owner_id: id.nullable(),
  description: z.string().nullable(),
  current_version: z.int(),
  /** The only hosts it is ever sent to. */
  allowed_hosts: z.array(z.string()),
  created_at: timestamp,
  updated_at: timestamp,
  created_by: id,
});
export type Secret = z.infer<typeof secret>;

/** A connected service that is sent with the secret. */
export const secretUse = z.strictObject({
  id,
  /** `org/github` where it is the org's. */
  name: z.string().max(67),
  tier,
  owner_id: id.nullable(),
});
export type SecretUse = z.infer<typeof secretUse>;
export const secretUsesMax = 50;

export const secretDetail = secret.extend({
  /** Services that were connected with it, as far as the caller may see them; the first 50. */
  used_by: z.array(secretUse).max(secretUsesMax),
});
export type SecretDetail = z.infer<typeof secretDetail>;

export const storedSecret = secret.extend({ version: z.int() });

/** Older versions than the newest this many are gone for good. */
export const secretVersionsMax = 50;

export const secretVersion = z.strictObject({
  version: z.int(),
  created_at: timestamp,
  created_by: id,
  current: z.boolean(),
});

/** 8 KiB is beyond any API key and within any header limit. */
export const secretValue = z.string().min(1).max(8192);
export const secretDescription = z.string().max(500);
/** No secret goes to more hosts. */
export const secretHostsMax = 50;
export const secretHosts = z.array(host).max(secretHostsMax);

export const createSecretBody = z.strictObject({
  name,
  value: secretValue,
  tier: tier.optional(),
  description: secretDescription.optional(),
  allowed_hosts: secretHosts.optional(),
});

/** What is absent stays as it is. The name stands in permission keys and never changes. */
export const updateSecretBody = z
  .strictObject({
    description: secretDescription.nullable().optional(),
    /** All of them: they take the place of the earlier ones. */
    allowed_hosts: secretHosts.optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'must change something');

const byId = z.strictObject({ id });

export const secretRoutes = defineRoutes({
  listSecrets: {
    method: 'GET',
    path: '/v1/secrets',
    summary: 'Secrets the caller can use, without their values',
    tag: 'Secrets',
    access: 'agents',
    query: pageQuery,
    responses: { 200: pageSchemaOf(secretDetail) },
    errors: [],
    audit: 'none',
  },
  createSecret: {
    method: 'POST',
    path: '/v1/secrets',
    summary: 'Store a secret; the same name again stores its next version',
    tag: 'Secrets',
    access: 'user',
    body: createSecretBody,
    responses: { 201: storedSecret },
    errors: ['forbidden', 'host_not_allowed', 'conflict'],
    audit: ['secret.created'],
  },
  getSecret: {
    method: 'GET',
    path: '/v1/secrets/{id}',
    summary: 'One secret, without its value',
    tag: 'Secrets',
    access: 'user',
    params: byId,
    responses: { 200: secretDetail },
    errors: ['not_found'],
    audit: 'none',
  },
  updateSecret: {
    method: 'PATCH',
    path: '/v1/secrets/{id}',
    summary: 'Change its description, or the hosts that it may go to',
    tag: 'Secrets',
    access: 'user',
    params: byId,
    body: updateSecretBody,
    responses: { 200: secret },
    errors: ['not_found', 'forbidden', 'host_not_allowed', 'invalid_params'],
    audit: ['secret.changed'],
  },
  listSecretVersions: {
    method: 'GET',
    path: '/v1/secrets/{id}/versions',
    summary: 'Version history, without values',
    tag: 'Secrets',
    access: 'user',
    params: byId,
    query: pageQuery,
    responses: { 200: pageSchemaOf(secretVersion) },
    errors: ['not_found'],
    audit: 'none',
  },
  restoreSecretVersion: {
    method: 'POST',
    path: '/v1/secrets/{id}/versions/{version}/restore',
    summary: 'Store the value of an earlier version as the next one',
    tag: 'Secrets',
    access: 'user',
    params: byId.extend({ version: z.coerce.number().int().min(1).max(2_147_483_647) }),
    responses: { 201: storedSecret },
    errors: ['not_found', 'forbidden', 'conflict'],
    audit: ['secret.changed'],
  },
  deleteSecret: {
    method: 'DELETE',
    path: '/v1/secrets/{id}',
    summary: 'Delete a secret with all its versions',
    tag: 'Secrets',
    access: 'user',
    params: byId,
    responses: { 204: null },
    errors: ['not_found', 'forbidden'],
    audit: ['secret.deleted'],
  },
});
