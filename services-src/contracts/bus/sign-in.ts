import { z } from 'zod';

import type { EndpointSpec } from '../define.ts';
import {
  orgName,
  passwordCharacters,
  session,
  signInBody,
  signInProvider,
  signInProviderBody,
  typedPassword,
} from '../http/sign-in.ts';
import {
  changeOrgBody,
  changeUserBody,
  createUserBody,
  emailAddress,
  invitation,
  org,
  signInLink,
} from '../http/users.ts';
import { identity } from '../http/identities.ts';
import {
  callContext,
  id,
  name,
  pageSchemaOf,
  pageRequest,
  signedPrincipal,
} from '../vocabulary.ts';

const done = z.strictObject({});
const asked = z.strictObject({ principal: signedPrincipal });
const change = asked.extend({ context: callContext });
/** Where the browser goes afterwards: checked by the gateway before and after. */
const returnTo = z.string().max(4_000).nullable();
/** What is known of the browser that signs in. */
export const visit = z.strictObject({
  userAgent: z.string().max(500).nullable(),
  /** The cookie of a browser in which somebody signed in before. */
  deviceToken: z.string().max(100).nullable(),
  context: callContext,
});

/** The cookies of a new dashboard session, and of the browser that it was opened in. */
export const openedSession = z.strictObject({
  sessionToken: z.string(),
  expiresAt: z.iso.datetime(),
  device: z.strictObject({ token: z.string(), expiresAt: z.iso.datetime() }),
});

const admins = { callers: ['gateway'], timeoutMs: 3_000 } as const;
/** Hashing a password takes its time, and waits for its turn. */
const hashing = { callers: ['gateway'], timeoutMs: 8_000 } as const;
/** A provider is asked, up to three times in a row. */
const abroad = { callers: ['gateway'], timeoutMs: 20_000 } as const;

/** The part of auth's contract about users, signing in, and what an org has set. */
export const signInEndpoints = {
  signInWithPassword: {
    request: visit.extend({ body: signInBody }),
    response: openedSession,
    errors: ['unauthenticated', 'rate_limited', 'identity_archived'],
    ...hashing,
  },
  /** What a person has to give to set a password (again). */
  describePassword: {
    request: asked,
    response: z.strictObject({
      /** False for somebody whom a provider signs in, and nothing else. */
      possible: z.boolean(),
      email: z.string().nullable(),
      needsCurrent: z.boolean(),
    }),
    errors: ['unauthenticated'],
    callers: ['gateway'],
    timeoutMs: 2_000,
  },
  /** Ends every other session of the user. */
  setPassword: {
    request: change.extend({
      /** Only for who has no account with e-mail address and password yet. */
      email: emailAddress.nullable(),
      current: typedPassword.nullable(),
      password: z.string().max(passwordCharacters.max * 4),
    }),
    response: done,
    errors: ['unauthenticated', 'forbidden', 'invalid_params', 'conflict', 'rate_limited'],
    ...hashing,
  },
  /** What the sign-in page offers. Public: it tells names of providers and nothing else. */
  listSignInOptions: {
    request: z.strictObject({ org: orgName.nullable() }),
    response: z.strictObject({
      /** There are several orgs, and none was named. */
      needsOrg: z.boolean(),
      providers: z.array(z.strictObject({ key: name, name: z.string() })).max(100),
    }),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 2_000,
  },
  startProviderSignIn: {
    request: z.strictObject({
      org: orgName.nullable(),
      key: name,
      returnTo,
      /** The cookie of a browser that has begun to sign in before; else one is made. */
      browserToken: z.string().max(100).nullable(),
    }),
    response: z.strictObject({ url: z.string(), browserToken: z.string() }),
    errors: [
      'not_found',
      'conflict',
      'upstream_unreachable',
      'upstream_timeout',
      'upstream_incomplete',
    ],
    ...abroad,
  },
  finishProviderSignIn: {
    request: visit.extend({
      key: name,
      /** The query of the callback, as it came. */
      query: z.string().max(8_000),
      browserToken: z.string().max(100).nullable(),
    }),
    response: openedSession.extend({ returnTo }),
    errors: [
      'expired',
      'forbidden',
      'unauthenticated',
      'identity_archived',
      'upstream_unreachable',
    ],
    ...abroad,
  },
  listSessions: {
    request: asked.extend({ page: pageRequest }),
    response: pageSchemaOf(session),
    errors: ['unauthenticated'],
    ...admins,
  },
  endSession: {
    request: change.extend({ id }),
    response: done,
    errors: ['unauthenticated', 'not_found'],
    ...admins,
  },
  endOtherSessions: { request: change, response: done, errors: ['unauthenticated'], ...admins },
  listUsers: {
    request: asked.extend({ page: pageRequest }),
    response: pageSchemaOf(identity),
    errors: ['unauthenticated', 'forbidden'],
    ...admins,
  },
  createUser: {
    request: change.extend({ body: createUserBody }),
    response: identity,
    errors: ['unauthenticated', 'forbidden', 'conflict'],
    ...admins,
  },
  inviteUser: {
    request: change.extend({ body: createUserBody }),
    response: invitation,
    errors: ['unauthenticated', 'forbidden', 'conflict'],
    ...admins,
  },
  changeUser: {
    request: change.extend({ id, body: changeUserBody }),
    response: identity,
    errors: ['unauthenticated', 'not_found', 'forbidden'],
    ...admins,
  },
  createSignInLink: {
    request: change.extend({ id }),
    response: signInLink,
    errors: ['unauthenticated', 'not_found', 'forbidden', 'conflict'],
    ...admins,
  },
  getOrg: { request: asked, response: org, errors: ['unauthenticated', 'forbidden'], ...admins },
  changeOrg: {
    request: change.extend({ body: changeOrgBody }),
    response: org,
    errors: ['unauthenticated', 'forbidden'],
    ...admins,
  },
  listSignInProviders: {
    request: asked,
    response: z.strictObject({ items: z.array(signInProvider).max(100) }),
    errors: ['unauthenticated', 'forbidden'],
    ...admins,
  },
  getSignInProvider: {
    request: asked.extend({ key: name }),
    response: signInProvider,
    errors: ['unauthenticated', 'forbidden', 'not_found'],
    ...admins,
  },
  putSignInProvider: {
    request: change.extend({ key: name, body: signInProviderBody }),
    response: signInProvider,
    errors: ['unauthenticated', 'forbidden', 'conflict', 'invalid_params'],
    ...abroad,
  },
  deleteSignInProvider: {
    request: change.extend({ key: name }),
    response: done,
    errors: ['unauthenticated', 'forbidden', 'not_found', 'conflict'],
    ...admins,
  },
} as const satisfies Record<string, EndpointSpec>;
