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

const emptyReply = z.strictObject({});
const principalRequest = z.strictObject({ principal: signedPrincipal });
const changeRequest = principalRequest.extend({ context: callContext });
/**
 * The URL to which the browser goes after signing in. The gateway checks it before the sign-in
 * starts and again after it.
 */
const returnTo = z.string().max(4_000).nullable();
/** The gateway's data about the browser that signs in. */
export const signInVisit = z.strictObject({
  userAgent: z.string().max(500).nullable(),
  /** The cookie that marks a browser in which a user has signed in before. */
  deviceToken: z.string().max(100).nullable(),
  context: callContext,
});

/** The cookies of a new dashboard session, and of the browser in which it was opened. */
export const openedSession = z.strictObject({
  sessionToken: z.string(),
  expiresAt: z.iso.datetime(),
  device: z.strictObject({ token: z.string(), expiresAt: z.iso.datetime() }),
});

const adminEndpointOptions = { callers: ['gateway'], timeoutMs: 3_000 } as const;
/** For endpoints that hash a password: hashing is slow, and requests queue for it. */
const passwordEndpointOptions = { callers: ['gateway'], timeoutMs: 8_000 } as const;
/** For endpoints that send up to three requests to a provider, one after the other. */
const providerEndpointOptions = { callers: ['gateway'], timeoutMs: 20_000 } as const;

/** The part of auth's contract about users, signing in and the settings of an org. */
export const signInEndpoints = {
  signInWithPassword: {
    request: signInVisit.extend({ body: signInBody }),
    response: openedSession,
    errors: ['unauthenticated', 'rate_limited', 'identity_archived'],
    ...passwordEndpointOptions,
    repeatable: false,
  },
  /** The fields that a person must enter to set or reset a password. */
  describePassword: {
    request: principalRequest,
    response: z.strictObject({
      /** False for a user who can only sign in through a provider. */
      possible: z.boolean(),
      email: z.string().nullable(),
      needsCurrent: z.boolean(),
    }),
    errors: ['unauthenticated'],
    callers: ['gateway'],
    timeoutMs: 2_000,
    repeatable: true,
  },
  /** Sets a password and ends all other sessions of the user. */
  setPassword: {
    request: changeRequest.extend({
      /** Given only for a user who has no e-mail address and password yet. */
      email: emailAddress.nullable(),
      current: typedPassword.nullable(),
      password: z.string().max(passwordCharacters.max * 4),
    }),
    response: emptyReply,
    errors: ['unauthenticated', 'forbidden', 'invalid_params', 'conflict', 'rate_limited'],
    ...passwordEndpointOptions,
    repeatable: false,
  },
  /**
   * The sign-in methods that the sign-in page offers. Public: it shows only the names of providers.
   */
  listSignInOptions: {
    request: z.strictObject({ org: orgName.nullable() }),
    response: z.strictObject({
      /** True when there are several orgs and the request names none. */
      needsOrg: z.boolean(),
      providers: z.array(z.strictObject({ key: name, name: z.string() })).max(100),
    }),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 2_000,
    repeatable: true,
  },
  startProviderSignIn: {
    request: z.strictObject({
      org: orgName.nullable(),
      key: name,
      returnTo,
      /**
       * The cookie of a browser in which a sign-in was begun before. When it is null, auth makes a
       * new cookie.
       */
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
    ...providerEndpointOptions,
    repeatable: false,
  },
  finishProviderSignIn: {
    request: signInVisit.extend({
      key: name,
      /** The query of the callback URL, unchanged. */
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
    ...providerEndpointOptions,
    repeatable: false,
  },
  listSessions: {
    request: principalRequest.extend({ page: pageRequest }),
    response: pageSchemaOf(session),
    errors: ['unauthenticated'],
    ...adminEndpointOptions,
    repeatable: true,
  },
  endSession: {
    request: changeRequest.extend({ id }),
    response: emptyReply,
    errors: ['unauthenticated', 'not_found'],
    ...adminEndpointOptions,
    repeatable: false,
  },
  endOtherSessions: {
    request: changeRequest,
    response: emptyReply,
    errors: ['unauthenticated'],
    ...adminEndpointOptions,
    repeatable: false,
  },
  listUsers: {
    request: principalRequest.extend({ page: pageRequest }),
    response: pageSchemaOf(identity),
    errors: ['unauthenticated', 'forbidden'],
    ...adminEndpointOptions,
    repeatable: true,
  },
  createUser: {
    request: changeRequest.extend({ body: createUserBody }),
    response: identity,
    errors: ['unauthenticated', 'forbidden', 'conflict'],
    ...adminEndpointOptions,
    repeatable: false,
  },
  inviteUser: {
    request: changeRequest.extend({ body: createUserBody }),
    response: invitation,
    errors: ['unauthenticated', 'forbidden', 'conflict'],
    ...adminEndpointOptions,
    repeatable: false,
  },
  changeUser: {
    request: changeRequest.extend({ id, body: changeUserBody }),
    response: identity,
    errors: ['unauthenticated', 'not_found', 'forbidden'],
    ...adminEndpointOptions,
    repeatable: false,
  },
  createSignInLink: {
    request: changeRequest.extend({ id }),
    response: signInLink,
    errors: ['unauthenticated', 'not_found', 'forbidden', 'conflict'],
    ...adminEndpointOptions,
    repeatable: false,
  },
  getOrg: {
    request: principalRequest,
    response: org,
    errors: ['unauthenticated', 'forbidden'],
    ...adminEndpointOptions,
    repeatable: true,
  },
  changeOrg: {
    request: changeRequest.extend({ body: changeOrgBody }),
    response: org,
    errors: ['unauthenticated', 'forbidden'],
    ...adminEndpointOptions,
    repeatable: false,
  },
  listSignInProviders: {
    request: principalRequest,
    response: z.strictObject({ items: z.array(signInProvider).max(100) }),
    errors: ['unauthenticated', 'forbidden'],
    ...adminEndpointOptions,
    repeatable: true,
  },
  getSignInProvider: {
    request: principalRequest.extend({ key: name }),
    response: signInProvider,
    errors: ['unauthenticated', 'forbidden', 'not_found'],
    ...adminEndpointOptions,
    repeatable: true,
  },
  putSignInProvider: {
    request: changeRequest.extend({ key: name, body: signInProviderBody }),
    response: signInProvider,
    errors: ['unauthenticated', 'forbidden', 'conflict', 'invalid_params'],
    ...providerEndpointOptions,
    repeatable: false,
  },
  deleteSignInProvider: {
    request: changeRequest.extend({ key: name }),
    response: emptyReply,
    errors: ['unauthenticated', 'forbidden', 'not_found', 'conflict'],
    ...adminEndpointOptions,
    repeatable: false,
  },
} as const satisfies Record<string, EndpointSpec>;
