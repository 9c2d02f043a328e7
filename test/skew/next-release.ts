import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Release } from '../support/deployment.ts';
import { copyTree } from './release.ts';

/** Replaces a text. The text must occur exactly once in the file, or exactly `times` times. */
interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly times?: number;
}

interface Change {
  readonly what: string;
  readonly edits: readonly Edit[];
  readonly newFiles?: Readonly<Record<string, string>>;
}

/**
 * The setting of the made-up next release. A gateway with this setting sends a critical member: a
 * field that an older release must not ignore.
 */
export const nextSetting = { NEXT_KEYS_MAX: '50' };
/**
 * Log lines of the next release, at level `warn`. Each line is logged when one change takes effect
 * that has no other visible effect.
 */
export const nextLogLines = {
  greeted: 'the next release answered a greeting',
  limited: 'the next release limits permission keys',
  located: 'the next release was asked for a region',
};

/** One change of each kind that docs/reference/upgrades.md allows between two releases. */
const changes: readonly Change[] = [
  {
    what: 'a member of audit records, in a column of its own',
    edits: [
      {
        file: 'services-src/contracts/audit.ts',
        find: '  request: addedField(auditedRequest),\n',
        replace:
          '  request: addedField(auditedRequest),\n  region: addedField(z.string().max(40)),\n',
      },
      {
        file: 'services-src/contracts/audit.ts',
        find: '    request: null,\n',
        replace: "    request: null,\n    region: 'next',\n",
      },
      {
        file: 'audit/records/record.sql.ts',
        find: 'prev_hash, hash',
        replace: 'region, prev_hash, hash',
        times: 3,
      },
      {
        file: 'audit/records/record.sql.ts',
        find: 'prev_hash text',
        replace: 'region text, prev_hash text',
      },
    ],
    newFiles: {
      'audit/migrations/9001_region.sql': 'alter table audit.record add column region text;\n',
    },
  },
  {
    what: 'a member of events',
    edits: [
      {
        file: 'services-src/contracts/events.ts',
        find: '  traceparent: z.string().max(128).optional(),\n});',
        replace:
          '  traceparent: z.string().max(128).optional(),\n  region: z.string().max(40).optional(),\n});',
      },
      {
        file: 'services-src/events/outbox.ts',
        find: '    audit: audit && {',
        replace: "    region: 'next',\n    audit: audit && {",
      },
    ],
  },
  {
    what: 'a type of events',
    edits: [
      {
        file: 'services-src/contracts/event-types.ts',
        find: "    'service.created': 'internal',\n",
        replace: "    'service.created': 'internal',\n    'service.listed': 'public',\n",
      },
      {
        file: 'registry/services/list-services.ts',
        find: "import * as z from 'zod';\n",
        replace:
          "import * as z from 'zod';\nimport { blankAuditEntry } from '#contracts/audit';\nimport { appendEvent } from '#events';\n",
      },
      {
        file: 'registry/services/list-services.ts',
        find: '  const rows = await services.listServices(',
        replace: `  await deps.db.transaction((tx) =>
    appendEvent(tx, {
      type: 'service.listed',
      orgId,
      audience: [userId],
      data: {},
      audit: { ...blankAuditEntry('Services were listed.'), user_id: userId },
    }),
  );
  const rows = await services.listServices(`,
      },
    ],
  },
  {
    what: 'a member of a request and of its answer',
    edits: [
      {
        file: 'services-src/contracts/bus/registry.ts',
        find: 'z.strictObject({ orgId: id, userId: id, name: nameReference }),\n    response: serviceRecord,',
        replace:
          'z.strictObject({ orgId: id, userId: id, name: nameReference, region: z.string().max(40).optional() }),\n    response: serviceRecord,',
      },
      {
        file: 'services-src/contracts/bus/registry.ts',
        find: '  connection: nameReference.nullable(),\n  /**\n   * The security schemes of the alternative',
        replace:
          '  connection: nameReference.nullable(),\n  region: z.string().max(40).optional(),\n  /**\n   * The security schemes of the alternative',
      },
      {
        file: 'policy/answers/lookups.ts',
        find: 'registry.resolveService({ orgId, userId, name }',
        replace: "registry.resolveService({ orgId, userId, name, region: 'next' }",
      },
      {
        file: 'registry/services/resolve-service.ts',
        find: "{ db }: Pick<Deps, 'db'>,\n  request: { orgId: string; userId: string; name: string },",
        replace:
          "{ db, logger }: Pick<Deps, 'db' | 'logger'>,\n  request: { orgId: string; userId: string; name: string; region?: string },",
      },
      {
        file: 'registry/services/resolve-service.ts',
        find: '  return serviceRecordOf(await getServiceByName(db, request));',
        replace: `  if (request.region !== undefined) logger.warn('${nextLogLines.located}');
  return { ...serviceRecordOf(await getServiceByName(db, request)), region: 'next' };`,
      },
    ],
  },
  {
    what: 'a value of an enum in an answer that the gateway passes on',
    edits: [
      {
        file: 'services-src/contracts/http/services.ts',
        find: "  status: z.enum(['ready', 'needs_credentials', 'needs_reauth', 'disabled']),\n  actions_count",
        replace:
          "  status: z.enum(['ready', 'needs_credentials', 'needs_reauth', 'disabled', 'resting']),\n  actions_count",
      },
      {
        file: 'registry/services/list-services.ts',
        find: '    items: await Promise.all(pendingItems),',
        replace:
          "    items: (await Promise.all(pendingItems)).map((item) => ({ ...item, status: 'resting' as const })),",
      },
    ],
  },
  {
    what: 'an endpoint, which the gateway calls and can do without',
    edits: [
      {
        file: 'services-src/contracts/bus/registry.ts',
        find: '\n  ping: {\n',
        replace: `
  greet: {
    request: emptyReply,
    response: emptyReply,
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1_000,
    repeatable: true,
  },
  ping: {
`,
      },
      {
        file: 'registry/handlers.ts',
        find: '    ping: ',
        replace: '    greet: async () => ({}),\n    ping: ',
      },
      {
        file: 'gateway/routes/services.ts',
        find: 'export function serviceHandlers({ registry, policy }',
        replace: 'export function serviceHandlers({ registry, policy, logger }',
      },
      {
        file: 'gateway/routes/services.ts',
        find: `    listServices: ({ caller: { principal }, query, deadline }) =>
      answer(`,
        replace: `    listServices: async ({ caller: { principal }, query, deadline }) => {
      await registry.greet({}, deadline).then(
        () => logger.warn('${nextLogLines.greeted}'),
        () => undefined,
      );
      return answer(`,
      },
      {
        file: 'gateway/routes/services.ts',
        find: `        ),
      ),
    async createService(`,
        replace: `        ),
      );
    },
    async createService(`,
      },
    ],
  },
  {
    what: 'a critical member of a request, behind a setting',
    edits: [
      {
        file: 'services-src/contracts/bus/policy.ts',
        find: "import { defineContract } from '../define.ts';\n",
        replace:
          "import { defineContract } from '../define.ts';\nimport { narrowing } from '../critical.ts';\n",
      },
      {
        file: 'services-src/contracts/bus/policy.ts',
        find: 'z.strictObject({ principal: signedPrincipal, call, options: callOptions }),',
        replace:
          'z.strictObject({ principal: signedPrincipal, call, options: callOptions, keysMax: narrowing(z.int()).optional() }),',
      },
      {
        file: 'policy/handlers.ts',
        find: '    decide: decideCall,',
        replace: `    decide: (deps, request) => {
      if (request.keysMax !== undefined) deps.logger.warn('${nextLogLines.limited}');
      return decideCall(deps, request);
    },`,
      },
      {
        file: 'services-src/config/settings.ts',
        find: '  HEALTH_PORT: {',
        replace: `  NEXT_KEYS_MAX: {
    schema: wholeNumber(0, 50),
    doc: 'The most permission keys of a call; 0 for no limit.',
    example: '0',
  },
  HEALTH_PORT: {`,
      },
      {
        file: 'gateway/config.ts',
        find: "  'OAUTH_URL',\n",
        replace: "  'OAUTH_URL',\n  'NEXT_KEYS_MAX',\n",
      },
      {
        file: 'gateway/start.ts',
        find: '    policy: makeExpiryRetryable(createClient(bus, policy)),',
        replace: '    policy: limitKeys(makeExpiryRetryable(createClient(bus, policy))),',
      },
      {
        file: 'gateway/start.ts',
        find: 'function createClients(bus: Bus): ComponentClients {',
        replace: `function limitKeys(client: ComponentClients['policy']): ComponentClients['policy'] {
  const keysMax = loadConfig(gatewayConfig, process.env).NEXT_KEYS_MAX;
  if (keysMax === 0) return client;
  return { ...client, decide: (asked, deadline) => client.decide({ ...asked, keysMax }, deadline) };
}

function createClients(bus: Bus): ComponentClients {`,
      },
      {
        file: 'gateway/start.ts',
        find: "import type { GatewayConfig } from './config.ts';\n",
        replace:
          "import type { GatewayConfig } from './config.ts';\nimport { gatewayConfig } from './config.ts';\nimport { loadConfig } from '#config';\n",
      },
    ],
  },
];

/** Makes the made-up next release of a copy of this tree. */
export async function makeNextRelease(folder: string): Promise<Release> {
  await copyTree(folder);
  const files = await editFiles(folder);
  for (const [file, text] of files) await writeFile(join(folder, file), text);
  return { name: 'next', folder };
}

/** Returns the new text of each file in which the next release differs from the folder. */
export async function editFiles(folder: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const { what, edits, newFiles = {} } of changes) {
    for (const edit of edits) {
      const { file } = edit;
      const textBefore = files.get(file) ?? (await readFile(join(folder, file), 'utf8'));
      files.set(file, replaceIn(textBefore, what, edit));
    }
    for (const [file, text] of Object.entries(newFiles)) files.set(file, text);
  }
  return files;
}

function replaceIn(text: string, what: string, { file, find, replace, times = 1 }: Edit): string {
  const parts = text.split(find);
  if (parts.length === times + 1) return parts.join(replace);
  throw new Error(
    `test/skew/next-release.ts, "${what}": change the text to find, as ${file} has it ${parts.length - 1} times and not ${times}: ${find}`,
  );
}
