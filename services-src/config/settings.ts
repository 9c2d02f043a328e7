import { accessSync, constants } from 'node:fs';

import { z } from 'zod';

import { SecretText } from './secret.ts';

export interface Setting {
  readonly schema: z.ZodType;
  /** One sentence for `.env.example`. */
  readonly doc: string;
  readonly example: string;
  /** May also be given as `<NAME>_FILE`, the path of a file that holds it. */
  readonly secret?: true;
  /** May be given per component, as `<COMPONENT>_<NAME>`. */
  readonly perComponent?: true;
  /** Not one variable but all whose names match; the schema gets them as an object, by name. */
  readonly family?: RegExp;
}

const whole = (fallback: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,12}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().max(max))
    .default(fallback);
const share = (fallback: number) =>
  z
    .string()
    .regex(/^\d{1,3}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(1).max(100))
    .default(fallback);
const text = z.string().min(1, 'must not be empty');
const isHost = (host: string) => URL.canParse(`http://${host.includes(':') ? `[${host}]` : host}/`);
const isReadable = (path: string) => {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
};
const secretKey = z
  .string()
  .min(43, 'must hold at least 256 random bits: 43 characters of base64url or 64 of hex')
  .transform((value) => new SecretText(value));

const ed25519Key = z
  .string()
  .regex(/^[A-Za-z0-9_-]{43}$/, 'must be 32 bytes as base64url, which is 43 characters');
const signingKey = (doc: string) =>
  ({ schema: secretKey, doc, example: '(made in DATA_DIR)', secret: true }) as const;

/** Every setting there is. Nothing else is read from the environment. */
export const settings = {
  HOST: {
    schema: text.refine(isHost, 'must be a host name or an address').default('127.0.0.1'),
    doc: 'Address the gateway listens on; for other components the one at which they would reach it, and never do.',
    example: '127.0.0.1',
  },
  PORT: {
    schema: whole(8080, 65_535),
    doc: 'Port the gateway listens on; 0 picks a free one.',
    example: '8080',
  },
  BASE_URL: {
    schema: z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
      .transform((url) => url.replace(/\/+$/, ''))
      .optional(),
    doc: 'What the gateway calls itself in every URL it hands out; by default made from HOST and PORT.',
    example: 'https://gateway.example.com',
  },
  DATA_DIR: {
    schema: text.default('.data'),
    doc: 'Embedded Postgres, embedded NATS and key files.',
    example: '.data',
  },
  DATABASE_URL: {
    schema: z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' }),
    doc: 'Postgres to use instead of the embedded one; each component may have its own (AUTH_DATABASE_URL, …).',
    example: 'postgres://owner:password@db/gateway',
    secret: true,
    perComponent: true,
  },
  DATABASE_CONNECTIONS_MAX: {
    schema: whole(6, 200),
    doc: 'Postgres connections of one component at most.',
    example: '6',
  },
  NATS_URL: {
    schema: z.string().regex(/^nats:\/\//, 'must be a nats:// URL'),
    doc: 'NATS to use instead of the embedded one; each component may have its own (AUTH_NATS_URL, …).',
    example: 'nats://auth:password@nats:4222',
    secret: true,
    perComponent: true,
  },
  NATS_REPLICAS: {
    schema: whole(1, 5),
    doc: 'Copies of the event stream in a NATS cluster; read at migration only.',
    example: '3',
  },
  MASTER_KEY: {
    schema: z
      .string()
      .min(1)
      .transform((value) => new SecretText(value)),
    doc: 'Key-encryption keys of the vault, newest first, comma-separated: base64url of 32 bytes each. Executor only.',
    example: '(made in DATA_DIR)',
    secret: true,
  },
  PERMIT_KEY: signingKey('Signs permits; policy and executor.'),
  CARD_KEY: signingKey('Proves what an approval shows; executor and gateway.'),
  DECISION_KEY: {
    schema: ed25519Key.transform((value) => new SecretText(value)),
    doc: 'Signs that somebody allows a call: an Ed25519 private key, base64url of 32 bytes; auth alone.',
    example: '(made in DATA_DIR)',
    secret: true,
  },
  DECISION_PUBLIC_KEY: {
    schema: ed25519Key,
    doc: 'What policy and approvals check decisions by: the public half of DECISION_KEY, base64url of 32 bytes.',
    example: '(made from DECISION_KEY)',
  },
  GAP_KEY_POLICY: signingKey('Proves gaps to policy itself, which alone has it.'),
  GAP_KEY_APPROVALS: signingKey('Proves gaps to approvals; policy and approvals.'),
  GAP_KEY_EXECUTOR: signingKey('Proves gaps to the executor; policy and executor.'),
  PRINCIPAL_KEY_AUTH: signingKey('Proves principals to auth itself, which alone has it.'),
  PRINCIPAL_KEY_REGISTRY: signingKey('Proves principals to the registry; auth and registry.'),
  PRINCIPAL_KEY_POLICY: signingKey('Proves principals to policy; auth and policy.'),
  PRINCIPAL_KEY_EXECUTOR: signingKey('Proves principals to the executor; auth and executor.'),
  PRINCIPAL_KEY_APPROVALS: signingKey('Proves principals to approvals; auth and approvals.'),
  PRINCIPAL_KEY_NOTIFIER: signingKey('Proves principals to the notifier; auth and notifier.'),
  PRINCIPAL_KEY_AUDIT: signingKey('Proves principals to audit; auth and audit.'),
  WEBHOOK_KEY: {
    schema: secretKey,
    doc: 'Webhook signing secrets are derived from it, so that none is stored; notifier only.',
    example: '(made in DATA_DIR)',
    secret: true,
  },
  SIGN_IN_KEY: {
    schema: secretKey,
    doc: 'Seals the client secrets of sign-in providers; auth only.',
    example: '(made in DATA_DIR)',
    secret: true,
  },
  SIGN_IN_PROVIDERS: {
    schema: text.transform((value) => new SecretText(value)).optional(),
    doc: 'OpenID Connect providers as a JSON list of {key, name, issuer, client_id, client_secret, allowed_email_domains, allowed_groups}.',
    example:
      '[{"key":"work","name":"Work","issuer":"https://id.example.com","client_id":"gateway","client_secret":"…","allowed_groups":["gateway"]}]',
    secret: true,
  },
  SIGN_IN_LINK: {
    schema: z.enum(['auto', 'always']).default('auto'),
    doc: 'When a start prints a sign-in link for the first admin: auto = until an admin can sign in without one, always.',
    example: 'auto',
  },
  OAUTH_APPS: {
    schema: z.record(z.string(), z.string()).transform((values, refusal) => {
      const apps = new Map<string, { clientId: string; clientSecret: SecretText | null }>();
      const keyOf = (name: string) =>
        name
          .replace(/^OAUTH_(.+)_CLIENT_(?:ID|SECRET)$/, '$1')
          .toLowerCase()
          .replaceAll('_', '-');
      for (const [name, value] of Object.entries(values)) {
        if (!name.endsWith('_CLIENT_ID')) continue;
        const secret = values[name.replace(/_ID$/, '_SECRET')];
        apps.set(keyOf(name), {
          clientId: value,
          clientSecret: secret === undefined ? null : new SecretText(secret),
        });
      }
      for (const name of Object.keys(values)) {
        if (apps.has(keyOf(name))) continue;
        refusal.addIssue(`has ${name} without ${name.replace(/_SECRET$/, '_ID')}`);
      }
      return apps;
    }),
    doc: 'Apps at OAuth providers for connections, each as OAUTH_<PROVIDER>_CLIENT_ID and OAUTH_<PROVIDER>_CLIENT_SECRET with the key of oauth-providers/ in capitals; each also as …_FILE. Executor only.',
    example: 'OAUTH_GITHUB_CLIENT_ID=Ov23li…',
    secret: true,
    family: /^OAUTH_[A-Z0-9_]+_CLIENT_(?:ID|SECRET)$/,
  },
  RATE_IDENTITY_PER_MINUTE: {
    schema: whole(600, 10_000_000),
    doc: 'Requests of one identity per minute; 0 = no limit.',
    example: '600',
  },
  RATE_USER_PER_MINUTE: {
    schema: whole(1200, 10_000_000),
    doc: 'Requests of one user and all its agents per minute; 0 = no limit.',
    example: '1200',
  },
  RATE_SIGN_IN_PER_MINUTE: {
    schema: whole(30, 1_000_000),
    doc: 'Sign-in attempts per address and minute; 0 = no limit.',
    example: '30',
  },
  RATE_REGISTER_PER_HOUR: {
    schema: whole(20, 1_000_000),
    doc: 'OAuth client registrations per address and hour; 0 = no limit.',
    example: '20',
  },
  RATE_PUBLIC_PER_MINUTE: {
    schema: whole(600, 10_000_000),
    doc: 'Requests per address and minute to what needs no credential (OAuth endpoints, pages to sign in and to connect accounts), and requests with credentials that are not valid; 0 = no limit.',
    example: '600',
  },
  OAUTH_HOST: {
    schema: text.refine(isHost, 'must be a host name or an address').default('127.0.0.1'),
    doc: 'Address on which auth answers OAuth requests that the gateway forwards; never exposed itself.',
    example: '127.0.0.1',
  },
  OAUTH_PORT: {
    schema: whole(0, 65_535),
    doc: 'Port on which auth answers OAuth requests; 0 picks a free one.',
    example: '8081',
  },
  OAUTH_URL: {
    schema: z.url({ protocol: /^http$/, error: 'must be an http URL' }).optional(),
    doc: "Where the gateway forwards OAuth requests: auth's OAUTH_HOST and OAUTH_PORT. Known by itself when all components run in one process.",
    example: 'http://auth:8081',
  },
  REFRESH_REUSE_GRACE_SECONDS: {
    schema: whole(0, 60),
    doc: 'For how long the refresh token before the newest one may be used again, by clients that lose answers; 0 = any reuse ends the chain.',
    example: '0',
  },
  CAP_REQUEST_BODY_BYTES: {
    schema: whole(1_048_576, 4_000_000),
    doc: 'Body of a request to the gateway.',
    example: '1048576',
  },
  CAP_JSON_DEPTH: {
    schema: whole(64, 64),
    doc: 'Levels to which JSON of a request may be nested.',
    example: '64',
  },
  CAP_JSON_VALUES: {
    schema: whole(50_000, 1_000_000),
    doc: 'Values in the JSON of a request: items of all lists and members of all objects.',
    example: '50000',
  },
  CAP_JSON_LIST_ITEMS: {
    schema: whole(20_000, 1_000_000),
    doc: 'Items of one list in the JSON of a request.',
    example: '20000',
  },
  CAP_JSON_NAMES: {
    schema: whole(10_000, 1_000_000),
    doc: 'Names of members in the JSON of a request.',
    example: '10000',
  },
  CAP_QUERY_VALUES: {
    schema: whole(1_000, 100_000),
    doc: 'Values in the query of a verb or raw call.',
    example: '1000',
  },
  CAP_RESPONSE_INLINE_BYTES: {
    schema: whole(524_288, 3_000_000),
    doc: 'Upstream body that is returned inside the answer.',
    example: '524288',
  },
  CAP_RESPONSE_STORED_BYTES: {
    schema: whole(268_435_456, 1_073_741_824),
    doc: 'Upstream body that is kept as a file for an hour.',
    example: '268435456',
  },
  CAP_FILES_BYTES: {
    schema: whole(2_147_483_648, 999_999_999_999),
    doc: 'All files together, shared out by the SHARE_… settings; the store is made for as much at migration.',
    example: '2147483648',
  },
  APPROVALS_OPEN_PER_REQUESTER: {
    schema: whole(20, 10_000),
    doc: 'Open approvals of one identity.',
    example: '20',
  },
  APPROVALS_OPEN_PER_SUBTREE: {
    schema: whole(50, 100_000),
    doc: "Open approvals of an agent's subtree.",
    example: '50',
  },
  REQUESTS_PER_HOUR: {
    schema: whole(2_000, 10_000_000),
    doc: 'Requests for accounts and secrets within an hour in one org: a quarter of them by one user with all its agents, half of that by one identity; 0 = no limit.',
    example: '2000',
  },
  AUDIT_BYTES_PER_MINUTE: {
    schema: whole(67_108_864, 10_000_000_000),
    doc: 'What the calls of one executor, and those that one gateway denies, write into the audit log within a minute, shared out by the SHARE_… settings; 0 = no limit.',
    example: '67108864',
  },
  APPROVALS_RAISED_PER_HOUR: {
    schema: whole(2_000, 10_000_000),
    doc: 'Approvals raised within an hour in one org, cancelled ones counted: a quarter of them by one user, half of that by one agent with its subagents; 0 = no limit.',
    example: '2000',
  },
  EXECUTOR_IN_FLIGHT_MAX: {
    schema: whole(256, 10_000),
    doc: 'Calls that one executor has under way at most; shared out by the SHARE_… settings.',
    example: '256',
  },
  SHARE_ORG_PERCENT: {
    schema: share(80),
    doc: 'Part of what is shared out that one org may hold when no other org holds anything; 100 = all of it.',
    example: '80',
  },
  SHARE_USER_PERCENT: {
    schema: share(80),
    doc: "Part of its org's share that one user with all its agents may hold when no other user holds anything; 100 = all of it.",
    example: '80',
  },
  SHARE_IDENTITY_PERCENT: {
    schema: share(80),
    doc: "Part of its user's share that one identity may hold when no other identity holds anything; 100 = all of it.",
    example: '80',
  },
  GATEWAY_IN_FLIGHT_MAX: {
    schema: whole(2_048, 100_000),
    doc: 'Requests that one gateway has under way at most, those that hang or wait included; shared out by the SHARE_… settings.',
    example: '2048',
  },
  GATEWAY_STREAMS_MAX: {
    schema: whole(5_000, 100_000),
    doc: 'Event streams (GET /v1/events, GET /mcp) that one gateway has open at most; shared out by the SHARE_… settings.',
    example: '5000',
  },
  CONNECTIONS_PER_ADDRESS_MAX: {
    schema: whole(2_000, 100_000),
    doc: 'Connections that one address, or one /64 of IPv6, has open to one gateway at most, trusted proxies excepted; 0 = no limit.',
    example: '2000',
  },
  TRUSTED_PROXIES: {
    schema: z.string().default(''),
    doc: 'Comma list of CIDRs whose forwarding headers count for addresses.',
    example: '10.0.0.0/8',
  },
  EGRESS_ALLOW: {
    schema: z.string().default(''),
    doc: 'Comma list of host:port, CIDR or CIDR:port that may be reached although private, and by plain http. Metadata addresses never.',
    example: '127.0.0.1:4010',
  },
  EGRESS_PROXY: {
    schema: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
    doc: 'Forward proxy for outbound calls (CONNECT to the vetted address).',
    example: 'http://proxy.internal:3128',
  },
  EGRESS_CA_FILE: {
    schema: text.refine(isReadable, 'must name a file that can be read').optional(),
    doc: 'PEM file of further certificate authorities for outbound calls.',
    example: '/etc/ssl/private-ca.pem',
  },
  TEMPLATES_DIR: {
    schema: text.default('service-templates'),
    doc: 'Folder of the built-in registry.',
    example: 'service-templates',
  },
  LOG_LEVEL: {
    schema: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
    doc: 'trace, debug, info, warn, error or silent.',
    example: 'info',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
    doc: 'OTLP/HTTP collector for traces and metrics; off when not set.',
    example: 'http://127.0.0.1:4318',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    schema: z
      .string()
      .regex(/^(0(\.\d+)?|1(\.0+)?)$/, 'must be a number from 0 to 1')
      .transform(Number)
      .default(0.05),
    doc: 'Share of calls that are traced.',
    example: '0.05',
  },
  HEALTH_PORT: {
    schema: whole(0, 65_535).optional(),
    doc: 'Port on which a component process answers /health/live and /health/ready; none when not set.',
    example: '9090',
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settings;
export type SettingValue<N extends SettingName> = z.output<(typeof settings)[N]['schema']>;
