import { z } from 'zod';

import { id, name, pageSchemaOf, pageQuery, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

/** Long enough for every address that exists; what is no address is simply not known. */
const typedEmail = z.string().min(1).max(320);
/** Counted in characters after normalization (docs/reference/identities.md#sign-in). */
export const passwordCharacters = { min: 12, max: 200 };
/** What somebody types as a password, right or wrong. */
export const typedPassword = z.string().min(1).max(800);
/** An org as people name it when they sign in; needed only where there are several. */
export const orgName = z.string().min(1).max(200);

export const signInBody = z.strictObject({
  email: typedEmail,
  password: typedPassword,
  org: orgName.optional(),
});

export const session = z.strictObject({
  id,
  /** Whether it is the one this request came with. */
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
  // Text that is no URL has been said to be none.
  if (url === null) return true;
  const { username, password, search, hash, pathname } = url;
  return `${username}${password}${search}${hash}` === '' && !pathname.includes('/.well-known/');
}

/** What is told of an OpenID Connect provider; its client secret never is. */
const providerFields = {
  /** On the button: "Continue with …". */
  name: z
    .string()
    .min(1)
    .max(60)
    .regex(/^\P{Cc}*$/u, 'must hold no control characters'),
  /** As the provider's own metadata spells it (OpenID Connect Discovery §3). */
  issuer: z
    .url({ protocol: /^https?$/, error: 'must be an https URL' })
    .max(500)
    .refine(isPlainUrl, 'must have no user name, query or fragment, nor end in /.well-known/…'),
  client_id: z.string().min(1).max(500),
};
const admission = {
  scopes: z.array(providerScope).max(20),
  allowed_email_domains: z.array(domain).max(100),
  allowed_groups: z.array(group).max(100),
};

/**
 * Whom a provider may bring in. Every list that is set must be met, at each sign-in; while none is,
 * nobody new comes in by this provider.
 */
export const signInProviderBody = z.strictObject({
  ...providerFields,
  /** Left out for a public client. Never shown again, and given anew with every change. */
  client_secret: z.string().min(1).max(2000).optional(),
  scopes: admission.scopes.default(['openid', 'email', 'profile']),
  allowed_email_domains: admission.allowed_email_domains.default([]),
  allowed_groups: admission.allowed_groups.default([]),
});
export type SignInProviderBody = z.infer<typeof signInProviderBody>;
export const signInProvider = z.strictObject({
  key: name,
  ...providerFields,
  ...admission,
  has_client_secret: z.boolean(),
  /** Providers of the environment are changed there. */
  source: z.enum(['environment', 'org']),
  /** To be registered at the provider. */
  redirect_uri: z.string(),
});
export type PublicSignInProvider = z.infer<typeof signInProvider>;

const byKey = z.strictObject({ key: name });
const none = { responses: { 204: null }, errors: [] } as const;

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
    errors: ['unauthenticated', 'forbidden'],
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
    errors: [],
    audit: 'none',
  },
  endOtherSessions: {
    method: 'DELETE',
    path: '/v1/sessions',
    summary: "End all of the caller's sessions but this one",
    tag: 'Sign-in',
    access: 'user',
    ...none,
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
    errors: ['not_found'],
    audit: ['session.ended'],
  },
  listSignInProviders: {
    method: 'GET',
    path: '/v1/sign-in-providers',
    summary: 'OpenID Connect providers of the org',
    tag: 'Sign-in',
    access: 'user',
    responses: { 200: z.strictObject({ items: z.array(signInProvider).max(100) }) },
    errors: ['forbidden'],
    audit: 'none',
  },
  getSignInProvider: {
    method: 'GET',
    path: '/v1/sign-in-providers/{key}',
    summary: 'One provider, without its client secret',
    tag: 'Sign-in',
    access: 'user',
    params: byKey,
    responses: { 200: signInProvider },
    errors: ['forbidden', 'not_found'],
    audit: 'none',
  },
  putSignInProvider: {
    method: 'PUT',
    path: '/v1/sign-in-providers/{key}',
    summary: 'Set up or replace a provider, after looking at its metadata',
    tag: 'Sign-in',
    access: 'user',
    params: byKey,
    body: signInProviderBody,
    responses: { 200: signInProvider },
    errors: ['forbidden', 'conflict', 'invalid_params'],
    audit: ['sign_in_provider.changed'],
  },
  deleteSignInProvider: {
    method: 'DELETE',
    path: '/v1/sign-in-providers/{key}',
    summary: 'Remove a provider; who came by it can no longer sign in with it',
    tag: 'Sign-in',
    access: 'user',
    params: byKey,
    responses: { 204: null },
    errors: ['forbidden', 'not_found', 'conflict'],
    audit: ['sign_in_provider.changed'],
  },
});
