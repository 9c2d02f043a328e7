import { z } from 'zod';

import { id, identityReference, name, tier, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';
import { secretDescription, secretHosts, secretValue, storedSecret } from './secrets.ts';

/** A request for a secret, which a person enters on a page (docs/reference/credentials.md#secret-requests). */
export const secretRequest = z.strictObject({
  id,
  name: z.string(),
  /** Of the org: only an admin enters it. */
  tier,
  reason: z.string().nullable(),
  /** Where it is wanted to go; who enters it has the last word. */
  allowed_hosts: z.array(z.string()),
  requested_by: identityReference,
  created_at: timestamp,
  expires_at: timestamp,
});
export type SecretRequest = z.infer<typeof secretRequest>;

export const createdSecretRequest = secretRequest.extend({
  /** Shown this once. Works once, and only for the person it is meant for, signed in. */
  provide_url: z.string(),
});

export const requestSecretBody = z.strictObject({
  name,
  /** What the person is told it is for. */
  reason: z.string().max(500).optional(),
  /** How long the link works, such as `24h`, which it is by default; 7 days at most. */
  ttl: z.string().max(40).optional(),
  allowed_hosts: secretHosts.optional(),
  tier: tier.optional(),
});

export const provideSecretBody = z.strictObject({
  value: secretValue,
  /** As they were read and confirmed, or corrected: never taken over unseen. */
  allowed_hosts: secretHosts,
  description: secretDescription.optional(),
});

/** Anything that is no token is one that is not known. */
const byToken = z.strictObject({ token: z.string().max(200) });

export const secretRequestRoutes = defineRoutes({
  requestSecret: {
    method: 'POST',
    path: '/v1/secrets/requests',
    summary: 'Ask for a new secret: a one-time link on which a person enters its value',
    tag: 'Secrets',
    access: 'agents',
    body: requestSecretBody,
    responses: { 201: createdSecretRequest },
    errors: ['forbidden', 'conflict', 'invalid_params', 'rate_limited'],
    audit: ['secret.requested'],
  },
  getSecretRequest: {
    method: 'GET',
    path: '/v1/provide/{token}',
    summary: 'What the link of a secret request asks for, and who asks',
    tag: 'Secrets',
    access: 'user',
    params: byToken,
    responses: { 200: secretRequest },
    errors: ['not_found', 'expired', 'conflict'],
    audit: 'none',
  },
  provideSecret: {
    method: 'POST',
    path: '/v1/provide/{token}',
    summary: 'Store the secret that was asked for; uses the link up',
    tag: 'Secrets',
    access: 'user',
    params: byToken,
    body: provideSecretBody,
    responses: { 201: storedSecret },
    errors: ['not_found', 'expired', 'conflict', 'host_not_allowed', 'invalid_params'],
    audit: ['secret.provided'],
  },
});
