import { z } from 'zod';

import { credentialPart } from '../credential-derivation.ts';
import { id, shownIdentity, name, tier, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';
import {
  secretAsIs,
  secretDescription,
  secretHosts,
  secretValue,
  storedSecret,
} from './secrets.ts';
import { wantedTemplate } from './wanted-template.ts';

/** A request for a secret, which a person enters on a page (docs/reference/credentials.md#secret-requests). */
export const secretRequest = z.strictObject({
  id,
  name: z.string(),
  /** `org`: only an admin can enter the secret. */
  tier,
  reason: z.string().nullable(),
  /** The hosts that the requester suggests; the person who enters the secret decides. */
  allowed_hosts: z.array(z.string()),
  /**
   * The parts of the secret, if it has several. Its value is then a JSON object with these members.
   */
  parts: z.array(credentialPart).max(20).optional(),
  /**
   * When a provider refused the stored value, which the entered one replaces; absent for a new
   * secret. The hosts are then those of the stored secret, and none can be added.
   */
  refused_at: timestamp.optional(),
  requested_by: shownIdentity,
  created_at: timestamp,
  expires_at: timestamp,
});
export type SecretRequest = z.infer<typeof secretRequest>;

export const createdSecretRequest = secretRequest.extend({
  /**
   * The link for the person who enters the secret. It works once, for the signed-in person it is
   * meant for.
   */
  provide_url: z.string(),
});

export const secretRequestFields = {
  name,
  /** The purpose, as the person reads it. */
  reason: z.string().max(500).optional(),
  /** How long the link works, such as `24h`. Default 24 hours, at most 7 days. */
  ttl: z.string().max(40).optional(),
  /** By default the hosts of the template. */
  allowed_hosts: secretHosts.optional(),
  tier: tier.optional(),
  /** The template that uses the secret. It defines the parts of the secret. */
  template: wantedTemplate.optional(),
} as const;
export const requestSecretBody = z.strictObject(secretRequestFields);

export const provideSecretBody = z.strictObject({
  value: secretValue,
  as_is: secretAsIs.optional(),
  /**
   * The hosts that the person confirmed or corrected; suggested hosts are never used without a
   * confirmation.
   */
  allowed_hosts: secretHosts,
  description: secretDescription.optional(),
});

/** A malformed token gets the same answer as an unknown one. */
const tokenParams = z.strictObject({ token: z.string().max(200) });

export const secretRequestRoutes = defineRoutes({
  requestSecret: {
    method: 'POST',
    path: '/v1/secrets/requests',
    summary:
      'Ask for a new secret, or a new value of a refused one; 200 with the open request if there is one',
    tag: 'Secrets',
    access: 'agents',
    body: requestSecretBody,
    responses: { 200: createdSecretRequest, 201: createdSecretRequest },
    serves: 'executor.requestSecret',
    audit: ['secret.requested', 'request.raised'],
  },
  getSecretRequest: {
    method: 'GET',
    path: '/v1/provide/{token}',
    summary: 'What the link of a secret request asks for, and who asks',
    tag: 'Secrets',
    access: 'user',
    params: tokenParams,
    responses: { 200: secretRequest },
    serves: ['executor.getSecretRequest', 'auth.listDisplayNames'],
    audit: 'none',
  },
  provideSecret: {
    method: 'POST',
    path: '/v1/provide/{token}',
    summary: 'Store the secret that was asked for; uses the link up',
    tag: 'Secrets',
    access: 'user',
    params: tokenParams,
    body: provideSecretBody,
    responses: { 201: storedSecret },
    serves: 'executor.provideSecret',
    audit: ['secret.provided', 'request.closed'],
  },
});
