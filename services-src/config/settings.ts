import { accessSync, constants, readFileSync } from 'node:fs';

import { z } from 'zod';

import { oauthClientText } from '../contracts/oauth-client-text.ts';
import { findDatabaseUrlProblem } from './database-url.ts';
import { findNatsUrlProblem } from './nats-url.ts';
import { resourceAttributesText } from './resource-attributes.ts';
import { SecretText } from './secret.ts';

export interface Setting {
  readonly schema: z.ZodType;
  /** The description of the setting in `.env.example`, one sentence. */
  readonly doc: string;
  readonly example: string;
  /**
   * The setting may also be given as `<NAME>_FILE`, the path of a file that holds the value. An empty
   * file is no value, as an empty variable is none.
   */
  readonly secret?: true;
  /** The setting may be given per component, as `<COMPONENT>_<NAME>`. */
  readonly perComponent?: true;
  /**
   * The setting consists of all variables whose names match. Its schema gets an object with their
   * values by name.
   */
  readonly family?: RegExp;
}

const wholeNumber = (defaultValue: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,12}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().max(max, `must be ${max} at most`))
    .default(defaultValue);
const createPercentSchema = (defaultValue: number) =>
  z
    .string()
    .regex(/^\d{1,3}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(1, 'must be 1 at least').max(100, 'must be 100 at most'))
    .default(defaultValue);
/** The size of a stream, which must hold a few of the largest messages. */
const createStreamBytesSchema = (defaultValue: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(16_777_216, 'must be 16777216 at least'))
    .default(defaultValue);
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
/** One of several words, in any letter case. */
const oneOf = <const Words extends readonly string[]>(words: Words) =>
  z
    .string()
    .toLowerCase()
    .pipe(z.enum(words, `must be one of ${words.join(', ')}`));
const secretKey = z
  .string()
  .min(43, 'must hold at least 256 random bits: 43 characters of base64url or 64 of hex')
  .transform((value) => new SecretText(value));

const ed25519Key = z
  .string()
  .regex(/^[A-Za-z0-9_-]{43}$/, 'must be 32 bytes as base64url, which is 43 characters');
const createSigningKeySetting = (doc: string) =>
  ({ schema: secretKey, doc, example: '(made in DATA_DIR)', secret: true }) as const;

/** All settings. The gateway reads nothing else from the environment. */
/** Schemes that browsers open themselves, so no application receives what is sent to them. */
const browserSchemes =
  /^(about|blob|data|file|filesystem|ftp|https?|javascript|vbscript|view-source|wss?)$/;
const isApplicationScheme = (scheme: string) =>
  /^[a-z][a-z0-9+.-]{1,60}$/.test(scheme) && !browserSchemes.test(scheme);

export const settings = {
  HOST: {
    schema: text.refine(isHost, 'must be a host name or an address').default('127.0.0.1'),
    doc: 'Address on which the gateway listens. For other components: the address of the gateway, to which they send no outbound call.',
    example: '127.0.0.1',
  },
  PORT: {
    schema: wholeNumber(8080, 65_535),
    doc: 'Port on which the gateway listens; 0 = any free port.',
    example: '8080',
  },
  SHUTDOWN_PAUSE_SECONDS: {
    schema: wholeNumber(10, 300),
    doc: 'How long a stopping gateway (and auth, for OAuth) reports that it is not ready but still serves requests, so that load balancers notice; 0 with npm start.',
    example: '10',
  },
  BASE_URL: {
    schema: z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
      .transform((url) => url.replace(/\/+$/, ''))
      .optional(),
    doc: 'Public URL of the gateway, for the links that it gives out: scheme, host and port, without a path; by default made from HOST and PORT.',
    example: 'https://gateway.example.com',
  },
  DATA_DIR: {
    schema: text.default('.data'),
    doc: 'Folder of the embedded Postgres, the embedded NATS and the key files.',
    example: '.data',
  },
  DATABASE_URL: {
    schema: z.string().superRefine((text, refusal) => {
      const problem = findDatabaseUrlProblem(text);
      if (problem !== undefined) refusal.addIssue(problem);
    }),
    doc: 'Postgres to use instead of the embedded one; each component may have its own (AUTH_DATABASE_URL, …).',
    example: 'postgres://owner:password@db/gateway',
    secret: true,
    perComponent: true,
  },
  DATABASE_CONNECTIONS_MAX: {
    schema: wholeNumber(6, 200),
    doc: 'Most Postgres connections of one component, besides one for its health check.',
    example: '6',
  },
  DATABASE_POOLER: {
    schema: oneOf(['on', 'off']).default('off'),
    doc: 'on = DATABASE_URL of the component leads to a pooler that gives each transaction another session, such as PgBouncer in transaction mode.',
    example: 'on',
  },
  NATS_URL: {
    schema: z.string().superRefine((text, refusal) => {
      const problem = findNatsUrlProblem(text);
      if (problem !== undefined) refusal.addIssue(problem);
    }),
    doc: 'NATS to use instead of the embedded one; each component may have its own (AUTH_NATS_URL, …).',
    example: 'nats://auth:password@nats:4222',
    secret: true,
    perComponent: true,
  },
  SERVERS_CA_FILE: {
    schema: text
      .refine(isReadable, 'must name a file that can be read')
      .transform((path) => (readFileSync(path, 'utf8').trim() === '' ? undefined : path))
      .optional(),
    doc: 'PEM file of the certificate authorities of Postgres and NATS. Both are then reached by TLS, except on loopback.',
    example: '/etc/ssl/servers-ca.pem',
  },
  NATS_REPLICAS: {
    schema: z
      .string()
      .regex(/^[1-5]$/, 'must be a whole number from 1 to 5')
      .transform(Number)
      .pipe(z.number().min(1).max(5))
      .optional(),
    doc: 'Copies of each stream in a NATS cluster; read at migration only. If not set, existing streams keep their number, and new ones get 1.',
    example: '3',
  },
  AUDIT_BYTES_MAX: {
    schema: createStreamBytesSchema(2_147_483_648),
    doc: 'Size in bytes of the stream AUDIT, which holds the records that the audit log has not read yet; when it is full, calls are refused. Read at migration only.',
    example: '2147483648',
  },
  EVENTS_BYTES_MAX: {
    schema: createStreamBytesSchema(1_073_741_824),
    doc: 'Size in bytes of the stream EVENTS, which holds the events that the notifier and policy have not read yet; when it is full, events wait in the outboxes. Read at migration only.',
    example: '1073741824',
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
  PERMIT_KEY: createSigningKeySetting('Signs permits in policy and verifies them in the executor.'),
  CARD_KEY: createSigningKeySetting(
    'Signs approval cards in the executor and verifies them in the gateway.',
  ),
  DECISION_KEY: {
    schema: ed25519Key.transform((value) => new SecretText(value)),
    doc: 'Signs the decision that allows a call: an Ed25519 private key, base64url of 32 bytes; auth only.',
    example: '(made in DATA_DIR)',
    secret: true,
  },
  DECISION_PUBLIC_KEY: {
    schema: ed25519Key,
    doc: 'Verifies decisions in policy and approvals: the public half of DECISION_KEY, base64url of 32 bytes.',
    example: '(made from DECISION_KEY)',
    // This key is public. It may be given as a file, as all other keys may.
    secret: true,
  },
  GAP_KEY_POLICY: createSigningKeySetting('Signs and verifies gaps in policy; policy only.'),
  GAP_KEY_APPROVALS: createSigningKeySetting(
    'Signs gaps in policy and verifies them in approvals.',
  ),
  GAP_KEY_EXECUTOR: createSigningKeySetting(
    'Signs gaps in policy and verifies them in the executor.',
  ),
  PRINCIPAL_KEY_AUTH: createSigningKeySetting('Signs and verifies principals in auth; auth only.'),
  PRINCIPAL_KEY_REGISTRY: createSigningKeySetting(
    'Signs principals in auth and verifies them in the registry.',
  ),
  PRINCIPAL_KEY_POLICY: createSigningKeySetting(
    'Signs principals in auth and verifies them in policy.',
  ),
  PRINCIPAL_KEY_EXECUTOR: createSigningKeySetting(
    'Signs principals in auth and verifies them in the executor.',
  ),
  PRINCIPAL_KEY_APPROVALS: createSigningKeySetting(
    'Signs principals in auth and verifies them in approvals.',
  ),
  PRINCIPAL_KEY_NOTIFIER: createSigningKeySetting(
    'Signs principals in auth and verifies them in the notifier.',
  ),
  PRINCIPAL_KEY_AUDIT: createSigningKeySetting(
    'Signs principals in auth and verifies them in audit.',
  ),
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
    schema: oneOf(['auto', 'always']).default('auto'),
    doc: 'When a start prints a sign-in link for the first admin: auto = until an admin can sign in without a link; always.',
    example: 'auto',
  },
  OAUTH_APPS: {
    schema: z.record(z.string(), z.string()).transform((values, refusal) => {
      const apps = new Map<string, { clientId: string; clientSecret: SecretText | null }>();
      const providerKeyOf = (name: string) =>
        name
          .replace(/^OAUTH_(.+)_CLIENT_(?:ID|SECRET)$/, '$1')
          .toLowerCase()
          .replaceAll('_', '-');
      for (const [name, value] of Object.entries(values)) {
        const problem = oauthClientText.safeParse(value).error?.issues[0]?.message;
        if (problem !== undefined) refusal.addIssue(`has ${name}, which ${problem}`);
        if (!name.endsWith('_CLIENT_ID')) continue;
        const secret = values[name.replace(/_ID$/, '_SECRET')];
        apps.set(providerKeyOf(name), {
          clientId: value,
          clientSecret: secret === undefined ? null : new SecretText(secret),
        });
      }
      for (const name of Object.keys(values)) {
        if (apps.has(providerKeyOf(name))) continue;
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
    schema: wholeNumber(600, 10_000_000),
    doc: 'Requests of one identity per minute; 0 = no limit.',
    example: '600',
  },
  RATE_USER_PER_MINUTE: {
    schema: wholeNumber(1200, 10_000_000),
    doc: 'Requests of one user and all its agents per minute; 0 = no limit.',
    example: '1200',
  },
  RATE_SIGN_IN_PER_MINUTE: {
    schema: wholeNumber(30, 1_000_000),
    doc: 'Sign-in attempts per address and minute; 0 = no limit.',
    example: '30',
  },
  RATE_REGISTER_PER_HOUR: {
    schema: wholeNumber(20, 1_000_000),
    doc: 'OAuth client registrations per address and hour; 0 = no limit.',
    example: '20',
  },
  RATE_PUBLIC_PER_MINUTE: {
    schema: wholeNumber(600, 10_000_000),
    doc: 'Requests per address and minute without a credential (OAuth endpoints, pages to sign in and to connect accounts) or with an invalid one; 0 = no limit.',
    example: '600',
  },
  OAUTH_HOST: {
    schema: text.refine(isHost, 'must be a host name or an address').default('127.0.0.1'),
    doc: 'Address on which auth answers OAuth requests that the gateway forwards. Do not expose it to clients.',
    example: '127.0.0.1',
  },
  OAUTH_PORT: {
    schema: wholeNumber(0, 65_535),
    doc: 'Port on which auth answers OAuth requests; 0 = any free port.',
    example: '8081',
  },
  OAUTH_URL: {
    schema: z.url({ protocol: /^http$/, error: 'must be an http URL' }).optional(),
    doc: "URL to which the gateway forwards OAuth requests: auth's OAUTH_HOST and OAUTH_PORT. Not needed when all components run in one process.",
    example: 'http://auth:8081',
  },
  REFRESH_REUSE_GRACE_SECONDS: {
    schema: wholeNumber(10, 60),
    doc: 'Seconds for which the previous refresh token may be used again, for clients that lose answers or refresh from two processes; 0 = any reuse ends the grant.',
    example: '10',
  },
  CAP_REQUEST_BODY_BYTES: {
    schema: wholeNumber(1_048_576, 4_000_000),
    doc: 'Most bytes in the body of a request to the gateway.',
    example: '1048576',
  },
  CAP_JSON_DEPTH: {
    schema: wholeNumber(64, 64),
    doc: 'Most levels of nested lists and objects in the JSON of a request.',
    example: '64',
  },
  CAP_JSON_VALUES: {
    schema: wholeNumber(50_000, 1_000_000),
    doc: 'Most values in the JSON of a request: items of all lists and members of all objects.',
    example: '50000',
  },
  CAP_JSON_LIST_ITEMS: {
    schema: wholeNumber(20_000, 1_000_000),
    doc: 'Most items of one list in the JSON of a request.',
    example: '20000',
  },
  CAP_JSON_NAMES: {
    schema: wholeNumber(10_000, 1_000_000),
    doc: 'Most names of members in the JSON of a request.',
    example: '10000',
  },
  CAP_JSON_NAME_CHARACTERS: {
    schema: wholeNumber(256, 10_000),
    doc: 'Most characters of one name in the JSON of a request.',
    example: '256',
  },
  CAP_JSON_PATH_CHARACTERS: {
    schema: wholeNumber(2_048, 100_000),
    doc: 'Most characters in all names on the path to one member in the JSON of a request.',
    example: '2048',
  },
  CAP_SENT_BODY_BYTES: {
    schema: wholeNumber(4_194_304, 67_108_864),
    doc: 'Most bytes in the body that a call sends to an upstream: a form can be much longer than the JSON from which it is made.',
    example: '4194304',
  },
  CAP_QUERY_VALUES: {
    schema: wholeNumber(1_000, 100_000),
    doc: 'Most values in the query of a verb or raw call.',
    example: '1000',
  },
  CAP_RESPONSE_INLINE_BYTES: {
    schema: wholeNumber(524_288, 3_000_000),
    doc: 'Most bytes of an upstream body that is returned inside the answer.',
    example: '524288',
  },
  CAP_RESPONSE_STORED_BYTES: {
    schema: wholeNumber(268_435_456, 1_073_741_824),
    doc: 'Most bytes of an upstream body that is kept as a file for an hour.',
    example: '268435456',
  },
  CAP_FILES_BYTES: {
    schema: wholeNumber(2_147_483_648, 999_999_999_999),
    doc: 'Most bytes of all files together, shared by the SHARE_… settings. The migration creates the file store with this size.',
    example: '2147483648',
  },
  APPROVALS_OPEN_PER_REQUESTER: {
    schema: wholeNumber(20, 10_000),
    doc: 'Most open approvals of one identity.',
    example: '20',
  },
  APPROVALS_OPEN_PER_SUBTREE: {
    schema: wholeNumber(50, 100_000),
    doc: "Most open approvals of an agent's subtree.",
    example: '50',
  },
  REQUESTS_PER_HOUR: {
    schema: wholeNumber(2_000, 10_000_000),
    doc: 'Most requests to people within an hour in one org. One user with all its agents gets a quarter, and one identity half of that; 0 = no limit.',
    example: '2000',
  },
  AUDIT_BYTES_PER_MINUTE: {
    schema: wholeNumber(67_108_864, 10_000_000_000),
    doc: 'Most bytes that the calls of one executor, or the refusals of one gateway, write into the audit log within a minute, shared by the SHARE_… settings; 0 = no limit.',
    example: '67108864',
  },
  APPROVALS_RAISED_PER_HOUR: {
    schema: wholeNumber(2_000, 10_000_000),
    doc: 'Most approvals raised within an hour in one org, including cancelled ones. One user gets a quarter, and one agent with its subagents half of that; 0 = no limit.',
    example: '2000',
  },
  EXECUTOR_IN_FLIGHT_MAX: {
    schema: wholeNumber(256, 10_000),
    doc: 'Most calls in flight at one executor, shared by the SHARE_… settings.',
    example: '256',
  },
  SHARE_ORG_PERCENT: {
    schema: createPercentSchema(80),
    doc: 'Percentage of a shared resource that one org may hold while no other org holds any of it; 100 = no limit.',
    example: '80',
  },
  SHARE_USER_PERCENT: {
    schema: createPercentSchema(80),
    doc: "Percentage of the org's share that one user with all its agents may hold while no other user holds any of it; 100 = no limit.",
    example: '80',
  },
  SHARE_IDENTITY_PERCENT: {
    schema: createPercentSchema(80),
    doc: "Percentage of the user's share that one identity may hold while no other identity holds any of it; 100 = no limit.",
    example: '80',
  },
  GATEWAY_IN_FLIGHT_MAX: {
    schema: wholeNumber(2_048, 100_000),
    doc: 'Most requests in flight at one gateway, including those that hang or wait, shared by the SHARE_… settings.',
    example: '2048',
  },
  GATEWAY_STREAMS_MAX: {
    schema: wholeNumber(5_000, 100_000),
    doc: 'Most open event streams (GET /v1/events, GET /mcp) at one gateway, shared by the SHARE_… settings.',
    example: '5000',
  },
  CONNECTIONS_PER_ADDRESS_MAX: {
    schema: wholeNumber(2_000, 100_000),
    doc: 'Most open connections from one address, or one /64 of IPv6, to one gateway, except from trusted proxies; 0 = no limit.',
    example: '2000',
  },
  MCP_ORIGINS: {
    schema: z
      .string()
      .default('')
      .transform((text) => text.split(',').flatMap((each) => each.trim() || []))
      .refine((origins) => origins.every((each) => URL.parse(each)?.origin === each), {
        error: 'must be a comma list of origins (https://app.example.com)',
      }),
    doc: 'Comma-separated origins whose pages may use /mcp with a bearer token; /mcp accepts no cookies.',
    example: 'https://inspector.example.com',
  },
  OAUTH_REDIRECT_SCHEMES: {
    schema: z
      .string()
      .default('')
      .transform((text) => new Set(text.split(',').flatMap((each) => each.trim() || [])))
      .refine((schemes) => [...schemes].every(isApplicationScheme), {
        error: 'must be a comma list of schemes of applications in lower case (my-editor)',
      }),
    doc: 'Comma-separated further schemes that redirect URIs of OAuth clients may have, such as that of an editor.',
    example: 'my-editor',
  },
  TRUSTED_PROXIES: {
    schema: z.string().default(''),
    doc: 'Comma-separated CIDRs of proxies whose forwarding headers are trusted for the address and the host of a request.',
    example: '10.0.0.0/8',
  },
  EGRESS_ALLOW: {
    schema: z.string().default(''),
    doc: 'Comma-separated host:port, CIDR or CIDR:port to which calls are allowed although the address is private, and also by plain http. A host:port opens only that spelling (127.0.0.1:4010, not localhost:4010); a network is matched by address. Metadata addresses are never allowed.',
    example: '127.0.0.1:4010',
  },
  EGRESS_PROXY: {
    schema: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
    doc: 'Forward proxy for outbound calls (CONNECT to the checked address); may contain a user and a password.',
    example: 'http://proxy.internal:3128',
    secret: true,
  },
  EGRESS_PROXY_RESOLVES: {
    schema: oneOf(['on', 'off']).default('off'),
    doc: 'on = EGRESS_PROXY gets the host name of a call, looks it up itself, and must refuse private addresses.',
    example: 'on',
  },
  EGRESS_TRACE_CONTEXT: {
    schema: oneOf(['on', 'off']).default('off'),
    doc: 'on = calls to services carry the header traceparent, with which a service can continue the trace.',
    example: 'on',
  },
  EGRESS_CA_FILE: {
    schema: text.refine(isReadable, 'must name a file that can be read').optional(),
    doc: 'PEM file of further certificate authorities for outbound calls.',
    example: '/etc/ssl/private-ca.pem',
  },
  TEMPLATES_DIR: {
    schema: text.default('service-templates'),
    doc: 'Folder of the built-in templates.',
    example: 'service-templates',
  },
  SAMPLE_SERVICE: {
    schema: oneOf(['on', 'off']).default('on'),
    doc: 'Whether npm start also runs the notice board, a sample service on loopback: on or off. It runs only with the embedded Postgres and a HOST on loopback.',
    example: 'off',
  },
  SAMPLE_URL: {
    schema: z.url({ protocol: /^http$/, error: 'must be an http URL' }).optional(),
    doc: 'Address of the running notice board. npm start sets it; leave it unset.',
    example: 'http://127.0.0.1:21844',
  },
  LOG_LEVEL: {
    schema: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
    doc: 'trace, debug, info, warn, error or silent.',
    example: 'info',
  },
  LOG_REQUESTS: {
    schema: oneOf(['off', 'errors', 'all']).default('all'),
    doc: 'Which HTTP requests the gateway logs, one line each at level info: off, errors or all.',
    example: 'all',
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
      .pipe(z.number().max(1))
      .default(0.05),
    doc: 'Fraction of calls that are traced.',
    example: '0.05',
  },
  OTEL_METRICS_EXPORTER: {
    schema: z
      .string()
      .default('otlp,prometheus')
      .transform((text) =>
        text
          .toLowerCase()
          .split(',')
          .flatMap((each) => each.trim() || []),
      )
      .pipe(z.array(z.enum(['otlp', 'prometheus', 'none'])))
      .refine((names) => names.length === 1 || !names.includes('none'), 'none stands alone')
      .transform((names) => names.filter((name) => name !== 'none')),
    doc: 'Comma-separated metrics exporters: otlp = to OTEL_EXPORTER_OTLP_ENDPOINT, prometheus = /metrics at HEALTH_PORT; none = no metrics.',
    example: 'otlp,prometheus',
  },
  OTEL_RESOURCE_ATTRIBUTES: {
    schema: resourceAttributesText.optional(),
    doc: 'Comma-separated attributes of all telemetry of the process, each as name=value; they override its own attributes.',
    example: 'deployment.environment.name=staging,service.namespace=gateway',
  },
  HEALTH_PORT: {
    schema: wholeNumber(0, 65_535).optional(),
    doc: 'Port on which a component process answers /health/live, /health/ready and /metrics, and npm start on 127.0.0.1; none when not set.',
    example: '9090',
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settings;
export type SettingValue<N extends SettingName> = z.output<(typeof settings)[N]['schema']>;
