import { z } from 'zod';

import { id, name, pageSchemaOf, pageQuery, role, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';
import { identity } from './identities.ts';

/** An e-mail address, kept as it was written and compared without regard to case. */
export const emailAddress = z
  .email('must be an e-mail address')
  .max(254)
  // What a person cannot see must not tell two addresses apart.
  .regex(/^[\x21-\x7e]+$/, 'must hold only visible ASCII characters');

export const createUserBody = z.strictObject({
  email: emailAddress,
  role,
  /** By default made from the e-mail address. */
  name: name.optional(),
});
export const changeUserBody = z.strictObject({ role });

export const signInLink = z.strictObject({
  /** Works once, and is shown this once. */
  url: z.string(),
  expires_at: timestamp,
});
export type SignInLink = z.infer<typeof signInLink>;
export const invitation = signInLink.extend({ user: identity });
export type Invitation = z.infer<typeof invitation>;

const seconds = (min: number, max: number) => z.int().min(min).max(max);
const minute = 60;
const day = 86_400;

/** Settings of an org (docs/reference/identities.md#org-settings). */
const orgSettings = z.strictObject({
  /** How long an undecided approval stays open. */
  approval_ttl_seconds: seconds(minute, 30 * day),
  /** After this an undecided approval moves to the next ancestor; 0: straight to the user. */
  auto_bubble_seconds: seconds(0, 7 * day),
  /** For how long a remembered permission holds when nobody says. */
  remember_ttl_seconds: seconds(minute, 365 * day),
  /** The longest that a requester may remember what it approved itself. */
  self_remember_max_seconds: seconds(minute, 365 * day),
  /** Reads wait until their audit record is stored. */
  durable_read_audit: z.boolean(),
  /** Names or software ids of the OAuth clients that may be used; null: every client. */
  oauth_client_allow_list: z.array(z.string().min(1).max(200)).max(100).nullable(),
});
export const org = orgSettings.extend({ id, name: z.string(), created_at: timestamp });
export type Org = z.infer<typeof org>;
export const changeOrgBody = orgSettings
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'must change at least one setting');
export type ChangeOrgBody = z.infer<typeof changeOrgBody>;

const byId = z.strictObject({ id });

/** Users and the org: auditors read, admins change (docs/reference/identities.md#roles). */
export const userRoutes = defineRoutes({
  listUsers: {
    method: 'GET',
    path: '/v1/users',
    summary: 'Users of the org',
    tag: 'Users',
    access: 'user',
    query: pageQuery,
    responses: { 200: pageSchemaOf(identity) },
    errors: ['forbidden'],
    audit: 'none',
  },
  createUser: {
    method: 'POST',
    path: '/v1/users',
    summary: 'Create a user who cannot sign in until a sign-in link is made for them',
    tag: 'Users',
    access: 'user',
    body: createUserBody,
    responses: { 201: identity },
    errors: ['forbidden', 'conflict'],
    audit: ['identity.created'],
  },
  inviteUser: {
    method: 'POST',
    path: '/v1/users/invitations',
    summary:
      'Create a user with a one-time sign-in link; again for the same e-mail address replaces the link',
    tag: 'Users',
    access: 'user',
    body: createUserBody,
    responses: { 201: invitation },
    errors: ['forbidden', 'conflict'],
    audit: ['user.invited'],
  },
  changeUser: {
    method: 'PATCH',
    path: '/v1/users/{id}',
    summary: 'Change the role of a user',
    tag: 'Users',
    access: 'user',
    params: byId,
    body: changeUserBody,
    responses: { 200: identity },
    errors: ['not_found', 'forbidden'],
    audit: ['identity.changed'],
  },
  createSignInLink: {
    method: 'POST',
    path: '/v1/users/{id}/sign-in-links',
    summary: 'Make a one-time link with which a user signs in and sets a new password',
    tag: 'Users',
    access: 'user',
    params: byId,
    responses: { 201: signInLink },
    errors: ['not_found', 'forbidden', 'conflict'],
    audit: ['sign_in_link.created'],
  },
  getOrg: {
    method: 'GET',
    path: '/v1/org',
    summary: 'The org and its settings',
    tag: 'Org',
    access: 'user',
    responses: { 200: org },
    errors: ['forbidden'],
    audit: 'none',
  },
  changeOrg: {
    method: 'PATCH',
    path: '/v1/org',
    summary: 'Change settings of the org; they hold within a second',
    tag: 'Org',
    access: 'user',
    body: changeOrgBody,
    responses: { 200: org },
    errors: ['forbidden'],
    audit: ['org.changed'],
  },
});
