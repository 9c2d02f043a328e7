import { z } from 'zod';

import { host, id, name, pageOf, pageQuery, tier, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

/** A named, versioned value of the vault. No answer of any endpoint carries the value (spec: Secrets). */
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

export const secretVersion = z.strictObject({
  version: z.int(),
  created_at: timestamp,
  created_by: id,
  current: z.boolean(),
});

/** 8 KiB is beyond any API key and within any header limit. */
export const createSecretBody = z.strictObject({
  name,
  value: z.string().min(1).max(8192),
  tier: tier.optional(),
  description: z.string().max(500).optional(),
  allowed_hosts: z.array(host).max(50).optional(),
});

const byId = z.strictObject({ id });

export const secretRoutes = defineRoutes({
  listSecrets: {
    method: 'GET',
    path: '/v1/secrets',
    summary: 'Secrets the caller can use, without their values',
    tag: 'Secrets',
    access: 'user',
    query: pageQuery,
    responses: { 200: pageOf(secret) },
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
    responses: { 201: secret.extend({ version: z.int() }) },
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
    responses: { 200: secret },
    errors: ['not_found'],
    audit: 'none',
  },
  listSecretVersions: {
    method: 'GET',
    path: '/v1/secrets/{id}/versions',
    summary: 'Version history, without values',
    tag: 'Secrets',
    access: 'user',
    params: byId,
    query: pageQuery,
    responses: { 200: pageOf(secretVersion) },
    errors: ['not_found'],
    audit: 'none',
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
