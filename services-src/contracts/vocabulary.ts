import { z } from 'zod';

/** Our processes. A *service* is a connected third-party service; a process of ours is a component. */
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

/** Every id is a UUIDv7 string; any UUID is accepted on the way in. */
export const id = z.uuid();
export const timestamp = z.iso.datetime();
export const name = z
  .string()
  .regex(
    /^[a-z][a-z0-9_-]{0,62}$/,
    'must start with a letter and hold only lower-case letters, digits, "_" and "-" (63 at most)',
  )
  .refine((value) => !(reservedNames as readonly string[]).includes(value), 'is a reserved name');
/** A name as callers write it: `github`, or `org/github` to skip a user's own. */
export const nameReference = z.string().regex(/^(org\/)?[a-z][a-z0-9_-]{0,62}$/);

export const identityKind = z.enum(['user', 'agent', 'subagent']);
export const role = z.enum(['admin', 'member', 'auditor']);
export const tier = z.enum(['user', 'org']);
export const templateTier = z.enum(['user', 'org', 'global']);
/** Risk of an action. Approvals call it low, med, high (docs/reference/permissions.md#risk). */
export const risk = z.enum(['read', 'write', 'delete']);
export const riskLevel = z.enum(['low', 'med', 'high']);
export const permissionKey = z.string().min(5).max(4096);
export const scope = z.enum(['actions:read', 'actions:call', 'approvals', 'agents', 'mcp', 'user']);
/** Any JSON. What meets a schema was parsed from JSON text, so what is in it is not walked through again. */
export const json = z.unknown().describe('Any JSON value.') as z.ZodType<JsonValue>;
export const httpMethod = z.enum(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE']);
/** A host name as it stands in a permission key: lower-case A-label, a port only when it is not the scheme's own. */
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

/** One identity of a chain, the user first and the caller last. */
export const chainLink = z.strictObject({
  id,
  kind: identityKind,
  name: z.string().min(1).max(200),
  inheritPermissions: z.boolean(),
});
export type ChainLink = z.infer<typeof chainLink>;

/** What an audit row and an approval say about who acted. */
export const identityReference = z.strictObject({
  id,
  kind: identityKind,
  name: z.string().max(200),
  path: z.array(z.string().max(200)).max(9),
});
export type IdentityReference = z.infer<typeof identityReference>;

/** A UUID, the name of the seeded client, or the https URL of a client-id metadata document. */
export const clientIdCharactersMax = 500;

export const credentialReference = z.strictObject({
  kind: z.enum(['session', 'agent_key', 'access_token']),
  id,
  clientId: z.string().max(clientIdCharactersMax).nullable(),
});

/**
 * Who calls, as auth vouches for it. Travels as a signed string (`signedPrincipal`);
 * components decide by no other description of the caller.
 */
export const principal = z.strictObject({
  orgId: id,
  identityId: id,
  kind: identityKind,
  /** The user at the root of the chain, against whom everything is recorded. */
  userId: id,
  /** The role of a user acting as itself; null for agents and subagents, whoever owns them. */
  role: role.nullable(),
  chain: z.array(chainLink).min(1).max(9),
  autoCallOnApprove: z.boolean(),
  credential: credentialReference,
  scopes: z.array(scope).max(6),
  /** Milliseconds since the epoch. */
  expiresAt: z.int(),
});
export type Principal = z.infer<typeof principal>;
export const signedPrincipal = z.string().min(20).max(16_384);

/** Travels with each call into its audit rows. */
export const callContext = z.strictObject({
  requestId: z.string().max(100),
  traceId: z.string().max(64).nullable(),
  ip: z.string().max(64).nullable(),
});
export type CallContext = z.infer<typeof callContext>;

/** `?limit=&cursor=` of every list. */
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
