import { z } from 'zod';

import { id, name, pageSchemaOf, pageQuery, role, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';
import { displayName } from './display-name.ts';
import { identity } from './identities.ts';

/** An e-mail address, stored as it was written and compared without regard to case. */
export const emailAddress = z
  .email('must be an e-mail address')
  .max(254)
  // Invisible characters could make two different addresses look the same.
  .regex(/^[\x21-\x7e]+$/, 'must hold only visible ASCII characters');

export const createUserBody = z.strictObject({
  email: emailAddress,
  role,
  /** The user's name; by default made from the e-mail address. */
  name: name.optional(),
});
export const changeUserBody = z
  .strictObject({
    role: role.optional(),
    /** Null removes the display name. */
    display_name: displayName.nullable().optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'names nothing to change');
export type ChangeUserBody = z.infer<typeof changeUserBody>;

export const signInLink = z.strictObject({
  /** The one-time link; only this answer shows it. */
  url: z.string(),
  expires_at: timestamp,
});
export type SignInLink = z.infer<typeof signInLink>;
export const invitation = signInLink.extend({ user: identity });
export type Invitation = z.infer<typeof invitation>;

const secondsBetween = (min: number, max: number) => z.int().min(min).max(max);
const minute = 60;
const day = 86_400;
/** The longest time for which an undecided approval stays open. */
export const approvalTtlSecondsMax = 30 * day;

/** Settings of an org (docs/reference/identities.md#org-settings). */
const orgSettings = z.strictObject({
  /** How long an undecided approval stays open. */
  approval_ttl_seconds: secondsBetween(minute, approvalTtlSecondsMax),
  /**
   * An undecided approval moves to the next ancestor after this time; 0 means straight to the user.
   */
  auto_bubble_seconds: secondsBetween(0, 7 * day),
  /** How long a remembered permission holds when the approver names no time. */
  remember_ttl_seconds: secondsBetween(minute, 365 * day),
  /** The longest time for which a requester may remember its own approval. */
  self_remember_max_seconds: secondsBetween(minute, 365 * day),
  /** Whether a read waits until its audit record is stored. */
  durable_read_audit: z.boolean(),
  /** A dashboard session ends when it was not used for this time. */
  session_idle_seconds: secondsBetween(5 * minute, 30 * day),
  /** Names or software ids of the OAuth clients that may be used; null allows every client. */
  oauth_client_allow_list: z.array(z.string().min(1).max(200)).max(100).nullable(),
});
export const org = orgSettings.extend({ id, name: z.string(), created_at: timestamp });
export type Org = z.infer<typeof org>;
export const changeOrgBody = orgSettings
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'must change at least one setting');
export type ChangeOrgBody = z.infer<typeof changeOrgBody>;

const idParams = z.strictObject({ id });

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
    serves: 'auth.listUsers',
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
    serves: 'auth.createUser',
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
    serves: 'auth.inviteUser',
    audit: ['user.invited'],
  },
  changeUser: {
    method: 'PATCH',
    path: '/v1/users/{id}',
    summary: 'Change the role or the display name of a user',
    tag: 'Users',
    access: 'user',
    params: idParams,
    body: changeUserBody,
    responses: { 200: identity },
    serves: 'auth.changeUser',
    audit: ['identity.changed'],
  },
  createSignInLink: {
    method: 'POST',
    path: '/v1/users/{id}/sign-in-links',
    summary: 'Make a one-time link with which a user signs in and sets a new password',
    tag: 'Users',
    access: 'user',
    params: idParams,
    responses: { 201: signInLink },
    serves: 'auth.createSignInLink',
    audit: ['sign_in_link.created'],
  },
  getOrg: {
    method: 'GET',
    path: '/v1/org',
    summary: 'The org and its settings',
    tag: 'Org',
    access: 'user',
    responses: { 200: org },
    serves: 'auth.getOrg',
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
    serves: 'auth.changeOrg',
    audit: ['org.changed'],
  },
});
