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
  /** The only hosts to which the secret is ever sent. */
  allowed_hosts: z.array(z.string()),
  created_at: timestamp,
  updated_at: timestamp,
  created_by: id,
  /**
   * When a provider refused the current version with 401; null once a call with it succeeds. Calls
   * are made all the same.
   */
  refused_at: timestamp.nullable().optional(),
});
export type Secret = z.infer<typeof secret>;

/** A connected service that uses the secret. */
export const secretUse = z.strictObject({
  id,
  /** The service's name; `org/github` for a service of the org. */
  name: z.string().max(67),
  tier,
  owner_id: id.nullable(),
});
export type SecretUse = z.infer<typeof secretUse>;
export const secretUsesMax = 50;

export const secretDetail = secret.extend({
  /** The first 50 services that were connected with the secret and that the caller may see. */
  used_by: z.array(secretUse).max(secretUsesMax),
});
export type SecretDetail = z.infer<typeof secretDetail>;

export const storedSecret = secret.extend({ version: z.int() });

/** The number of versions that are kept; older versions are deleted for good. */
export const secretVersionsMax = 50;

export const secretVersion = z.strictObject({
  version: z.int(),
  created_at: timestamp,
  created_by: id,
  current: z.boolean(),
});

/** The limit of 8 KiB is above the length of any API key and below the limit of any header. */
export const secretValue = z.string().min(1).max(8192);
/**
 * Stores a value that looks as if more than the secret was pasted: with a blank at an end, with
 * invisible characters, after a scheme such as `Bearer`, or in quotes.
 */
export const secretAsIs = z.boolean();
export const secretDescription = z.string().max(500);
/** The most hosts that one secret may be sent to. */
export const secretHostsMax = 50;
export const secretHosts = z.array(host).max(secretHostsMax);

export const createSecretBody = z.strictObject({
  name,
  value: secretValue,
  as_is: secretAsIs.optional(),
  tier: tier.optional(),
  description: secretDescription.optional(),
  allowed_hosts: secretHosts.optional(),
});

/** An absent field stays unchanged. The name is part of permission keys and can never change. */
export const updateSecretBody = z
  .strictObject({
    description: secretDescription.nullable().optional(),
    /** The complete list of hosts, which replaces the earlier list. */
    allowed_hosts: secretHosts.optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'must change something');

const idParams = z.strictObject({ id });

export const secretRoutes = defineRoutes({
  listSecrets: {
    method: 'GET',
    path: '/v1/secrets',
    summary: 'Secrets the caller can use, without their values',
    tag: 'Secrets',
    access: 'agents',
    query: pageQuery,
    responses: { 200: pageSchemaOf(secretDetail) },
    serves: 'executor.listSecrets',
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
    serves: 'executor.createSecret',
    audit: ['secret.created'],
  },
  getSecret: {
    method: 'GET',
    path: '/v1/secrets/{id}',
    summary: 'One secret, without its value',
    tag: 'Secrets',
    access: 'user',
    params: idParams,
    responses: { 200: secretDetail },
    serves: 'executor.getSecret',
    audit: 'none',
  },
  updateSecret: {
    method: 'PATCH',
    path: '/v1/secrets/{id}',
    summary: 'Change its description, or the hosts that it may go to',
    tag: 'Secrets',
    access: 'user',
    params: idParams,
    body: updateSecretBody,
    responses: { 200: secret },
    serves: 'executor.updateSecret',
    audit: ['secret.changed'],
  },
  listSecretVersions: {
    method: 'GET',
    path: '/v1/secrets/{id}/versions',
    summary: 'Version history, without values',
    tag: 'Secrets',
    access: 'user',
    params: idParams,
    query: pageQuery,
    responses: { 200: pageSchemaOf(secretVersion) },
    serves: 'executor.listSecretVersions',
    audit: 'none',
  },
  restoreSecretVersion: {
    method: 'POST',
    path: '/v1/secrets/{id}/versions/{version}/restore',
    summary: 'Store the value of an earlier version as the next one',
    tag: 'Secrets',
    access: 'user',
    params: idParams.extend({ version: z.coerce.number().int().min(1).max(2_147_483_647) }),
    responses: { 201: storedSecret },
    serves: 'executor.restoreSecretVersion',
    audit: ['secret.changed'],
  },
  deleteSecret: {
    method: 'DELETE',
    path: '/v1/secrets/{id}',
    summary: 'Delete a secret with all its versions',
    tag: 'Secrets',
    access: 'user',
    params: idParams,
    responses: { 204: null },
    serves: 'executor.deleteSecret',
    audit: ['secret.deleted'],
  },
});
