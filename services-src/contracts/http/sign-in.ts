import { z } from 'zod';

import { oauthClientText } from '../oauth-client-text.ts';
import { id, name, pageSchemaOf, pageQuery, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

/**
 * The limit is above the length of any valid e-mail address. Other text gets the answer that an
 * unknown address gets.
 */
const typedEmail = z.string().min(1).max(320);
/**
 * The length of a password, in characters after normalization
 * (docs/reference/identities.md#sign-in).
 */
export const passwordCharacters = { min: 12, max: 200 };
/** A password as a person typed it, which may be wrong. */
export const typedPassword = z.string().min(1).max(800);
/** The name of an org at sign-in; needed only when there are several. */
export const orgName = z.string().min(1).max(200);

export const signInBody = z.strictObject({
  email: typedEmail,
  password: typedPassword,
  org: orgName.optional(),
});

export const session = z.strictObject({
  id,
  /** Whether the request was made in this session. */
  current: z.boolean(),
  opened_by: z.enum(['link', 'password', 'provider']),
  created_at: timestamp,
  last_used_at: timestamp,
  expires_at: timestamp,
  ip: z.string().nullable(),
  user_agent: z.string().nullable(),
});
export type PublicSession = z.infer<typeof session>;

const domain = z
  .string()
  .max(253)
  .regex(/^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]{2,63}$/, 'must be a lower-case domain');
const group = z.string().min(1).max(200);
const providerScope = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/);

function isPlainUrl(text: string): boolean {
  const url = URL.parse(text);
  // The previous check has already refused text that is not a URL.
  if (url === null) return true;
  const { username, password, search, hash, pathname } = url;
  return `${username}${password}${search}${hash}` === '' && !pathname.includes('/.well-known/');
}

/** The public fields of an OpenID Connect provider; its client secret is never returned. */
const providerFields = {
  /** The provider's name on the sign-in button: "Continue with …". */
  name: z
    .string()
    .min(1)
    .max(60)
    .regex(/^\P{Cc}*$/u, 'must hold no control characters'),
  /** The issuer as written in the provider's metadata (OpenID Connect Discovery §3). */
  issuer: z
    .url({ protocol: /^https?$/, error: 'must be an https URL' })
    .max(500)
    .refine(isPlainUrl, 'must have no user name, query or fragment, nor end in /.well-known/…'),
  client_id: z.string().min(1).max(500),
};
const admissionFields = {
  scopes: z.array(providerScope).max(20),
  allowed_email_domains: z.array(domain).max(100),
  allowed_groups: z.array(group).max(100),
};

/**
 * A sign-in provider, and which users it may create. A user must match every list that is set, at
 * each sign-in; while no list is set, the provider creates no user.
 */
export const signInProviderBody = z.strictObject({
  ...providerFields,
  client_id: oauthClientText.max(500),
  /** Left out for a public client. No answer contains it, and every change must give it again. */
  client_secret: oauthClientText.max(2000).optional(),
  scopes: admissionFields.scopes.default(['openid', 'email', 'profile']),
  allowed_email_domains: admissionFields.allowed_email_domains.default([]),
  allowed_groups: admissionFields.allowed_groups.default([]),
});
export type SignInProviderBody = z.infer<typeof signInProviderBody>;
export const signInProvider = z.strictObject({
  key: name,
  ...providerFields,
  ...admissionFields,
  has_client_secret: z.boolean(),
  /** A provider with the source `environment` can only be changed in the environment variables. */
  source: z.enum(['environment', 'org']),
  /** The redirect URI that must be registered at the provider. */
  redirect_uri: z.string(),
});
export type PublicSignInProvider = z.infer<typeof signInProvider>;

const providerKeyParams = z.strictObject({ key: name });

/** Signing in, sessions and providers (docs/reference/identities.md#sign-in). */
export const signInRoutes = defineRoutes({
  signIn: {
    method: 'POST',
    path: '/v1/sign-in',
    summary: 'Sign in with e-mail address and password; sets the session cookie',
    tag: 'Sign-in',
    access: 'public',
    body: signInBody,
    responses: { 204: null },
    serves: 'auth.signInWithPassword',
    errors: ['forbidden'],
    audit: ['session.created', 'sign_in.failed'],
  },
  listSessions: {
    method: 'GET',
    path: '/v1/sessions',
    summary: "The caller's own dashboard sessions",
    tag: 'Sign-in',
    access: 'user',
    query: pageQuery,
    responses: { 200: pageSchemaOf(session) },
    serves: 'auth.listSessions',
    audit: 'none',
  },
  endOtherSessions: {
    method: 'DELETE',
    path: '/v1/sessions',
    summary: "End all of the caller's sessions but this one",
    tag: 'Sign-in',
    access: 'user',
    responses: { 204: null },
    serves: 'auth.endOtherSessions',
    audit: ['session.ended'],
  },
  endSession: {
    method: 'DELETE',
    path: '/v1/sessions/{id}',
    summary: "End one of the caller's sessions",
    tag: 'Sign-in',
    access: 'user',
    params: z.strictObject({ id }),
    responses: { 204: null },
    serves: 'auth.endSession',
    audit: ['session.ended'],
  },
  listSignInProviders: {
    method: 'GET',
    path: '/v1/sign-in-providers',
    summary: 'OpenID Connect providers of the org',
    tag: 'Sign-in',
    access: 'user',
    responses: { 200: z.strictObject({ items: z.array(signInProvider).max(100) }) },
    serves: 'auth.listSignInProviders',
    audit: 'none',
  },
  getSignInProvider: {
    method: 'GET',
    path: '/v1/sign-in-providers/{key}',
    summary: 'One provider, without its client secret',
    tag: 'Sign-in',
    access: 'user',
    params: providerKeyParams,
    responses: { 200: signInProvider },
    serves: 'auth.getSignInProvider',
    audit: 'none',
  },
  putSignInProvider: {
    method: 'PUT',
    path: '/v1/sign-in-providers/{key}',
    summary: 'Set up or replace a provider, after looking at its metadata',
    tag: 'Sign-in',
    access: 'user',
    params: providerKeyParams,
    body: signInProviderBody,
    responses: { 200: signInProvider },
    serves: 'auth.putSignInProvider',
    audit: ['sign_in_provider.changed'],
  },
  deleteSignInProvider: {
    method: 'DELETE',
    path: '/v1/sign-in-providers/{key}',
    summary: 'Remove a provider; who came by it can no longer sign in with it',
    tag: 'Sign-in',
    access: 'user',
    params: providerKeyParams,
    responses: { 204: null },
    serves: 'auth.deleteSignInProvider',
    audit: ['sign_in_provider.changed'],
  },
});
