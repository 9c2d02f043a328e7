import { z } from 'zod';

import { credentialPlaceNames } from './credential-place.ts';
import { httpMethods, risks, roles, shownRisks, templateTiers } from './value-sets.ts';

/**
 * The components, which are the processes of the gateway. "Service" always means a connected
 * third-party service.
 */
export const components = [
  'gateway',
  'auth',
  'registry',
  'policy',
  'executor',
  'approvals',
  'notifier',
  'audit',
] as const;
export type Component = (typeof components)[number];

/** Names that a service, secret, connection, agent or template may not have. */
export const reservedNames = ['http', 'secret', 'connection', 'platform', 'org'] as const;

/** Every id that the gateway makes is a UUIDv7; requests may contain any UUID. */
export const id = z.uuid();
export const timestamp = z.iso.datetime();

/**
 * A time that a caller gives: RFC 3339 with any offset, in the years 1 to 9999. It is read as UTC,
 * to the millisecond. A blank before the offset counts as the `+` that a query without
 * percent-encoding loses.
 */
export const givenTime = z
  .string()
  .max(64)
  .meta({ format: 'date-time' })
  .overwrite(toUtc)
  .refine(
    (text) => timestamp.safeParse(text).success && /^(?!0000)\d{4}-/.test(text),
    'must be a date and time such as 2026-11-23T08:00:00Z or 2026-11-23T10:00:00+02:00, in the years 1 to 9999',
  );

/** Returns the time in UTC. A text that is not a time stays as it is. */
function toUtc(text: string): string {
  const time = text.toUpperCase().replace(/ (?=\d\d:\d\d$)/, '+');
  if (!z.iso.datetime({ offset: true }).safeParse(time).success) return text;
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? text : date.toISOString();
}
export const name = z
  .string()
  .regex(
    /^[a-z][a-z0-9_-]{0,62}$/,
    'must start with a letter and hold only lower-case letters, digits, "_" and "-" (63 at most)',
  )
  .refine((value) => !(reservedNames as readonly string[]).includes(value), 'is a reserved name');
/**
 * A name as callers write it: `github`, or `org/github` for the org's, even where a user has one
 * named `github`.
 */
export const nameReference = z.string().regex(/^(org\/)?[a-z][a-z0-9_-]{0,62}$/);

export const identityKind = z.enum(['user', 'agent', 'subagent']);
export const role = z.enum(roles);
export const tier = z.enum(['user', 'org']);
export const templateTier = z.enum(templateTiers);
export const risk = z.enum(risks);
export const riskLevel = z.enum(shownRisks);
export const permissionKey = z.string().min(5).max(4096);
export const scope = z.enum(['actions:read', 'actions:call', 'approvals', 'agents', 'mcp', 'user']);
export const credentialPlace = z.enum(credentialPlaceNames);
/** `basic`: the secret is `user:password` and is sent base64-encoded after the prefix. */
export const credentialEncoding = z.enum(['raw', 'basic']);
/**
 * `derived`: what is sent is derived from the secret, and the secret itself is never sent. Releases
 * that cannot derive do not know this value, so they refuse the permit instead of sending the secret.
 */
export const injectedEncoding = z.enum([...credentialEncoding.options, 'derived']);
/** Any JSON value. It was parsed from JSON text, so the schema does not check it again. */
export const json = z.unknown().describe('Any JSON value.') as z.ZodType<JsonValue>;
export const httpMethod = z.enum(httpMethods);
/**
 * A host as in a permission key: a lower-case A-label, with a port only when it is not the scheme's
 * default.
 */
export const host = z.string().min(1).max(262);

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | JsonValue[]
  | { [key: string]: JsonValue };
export type IdentityKind = z.infer<typeof identityKind>;
export type Role = z.infer<typeof role>;
export type Tier = z.infer<typeof tier>;
export type TemplateTier = z.infer<typeof templateTier>;
export type Risk = z.infer<typeof risk>;
export type RiskLevel = z.infer<typeof riskLevel>;
export type Scope = z.infer<typeof scope>;
export type HttpMethod = z.infer<typeof httpMethod>;

export const riskLevels = { read: 'low', write: 'med', delete: 'high' } as const satisfies Record<
  Risk,
  RiskLevel
>;

/** One identity in a chain of identities, which begins with the user and ends with the caller. */
export const chainLink = z.strictObject({
  id,
  kind: identityKind,
  name: z.string().min(1).max(200),
  inheritPermissions: z.boolean(),
});
export type ChainLink = z.infer<typeof chainLink>;

/** The most characters of a display name. */
export const displayNameCharactersMax = 80;

/** An identity as audit rows and approvals show it. */
export const identityReference = z.strictObject({
  id,
  kind: identityKind,
  name: z.string().max(200),
  path: z.array(z.string().max(200)).max(9),
});
export type IdentityReference = z.infer<typeof identityReference>;

/**
 * An identity in an answer of the gateway, which adds the display name. Components neither store
 * nor send it, because audit hashes and the MACs of approval cards cover what they store.
 */
export const shownIdentity = identityReference.extend({
  /**
   * The display name of the person at the start of `path`, to show beside the path and never in
   * place of it. Absent while the person has none.
   */
  display_name: z
    .string()
    .max(displayNameCharactersMax * 2)
    .optional(),
});
export type ShownIdentity = z.infer<typeof shownIdentity>;

/**
 * The most characters of a client id: a UUID, the name of the built-in client, or the https URL of
 * a client-id metadata document.
 */
export const clientIdCharactersMax = 500;

export const credentialReference = z.strictObject({
  kind: z.enum(['session', 'agent_key', 'access_token']),
  id,
  clientId: z.string().max(clientIdCharactersMax).nullable(),
});

/**
 * The caller, as auth authenticated it. It is sent as a signed string (`signedPrincipal`);
 * components check rights by this data only.
 */
export const principal = z.strictObject({
  orgId: id,
  identityId: id,
  kind: identityKind,
  /** The user at the root of the chain of identities, who is responsible for the call. */
  userId: id,
  /**
   * The role of a user who acts without an agent; null for agents and subagents of any owner.
   */
  role: role.nullable(),
  chain: z.array(chainLink).min(1).max(9),
  autoCallOnApprove: z.boolean(),
  credential: credentialReference,
  scopes: z.array(scope).max(6),
  /** In milliseconds since the epoch. Earlier releases leave `issuedAt` out. */
  issuedAt: z.int().optional(),
  expiresAt: z.int(),
});
export type Principal = z.infer<typeof principal>;
export const signedPrincipal = z.string().min(20).max(16_384);

/** Data about the request that is sent with each call for its audit rows. */
export const callContext = z.strictObject({
  requestId: z.string().max(100),
  traceId: z.string().max(64).nullable(),
  ip: z.string().max(64).nullable(),
});
export type CallContext = z.infer<typeof callContext>;

/** The query `?limit=&cursor=` of every list. */
export const pageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).optional(),
  cursor: z.string().max(500).optional(),
});
export const pageRequest = z.strictObject({
  limit: z.int().min(1).max(200),
  cursor: z.string().max(500).nullable(),
});
export function pageSchemaOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({ items: z.array(item).max(200), next_cursor: z.string().nullable() });
}
