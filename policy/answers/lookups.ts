import { LRUCache } from 'lru-cache';

import { deadlineIn } from '#bus';
import type { Client, Deadline } from '#bus';
import type { auth } from '#contracts/bus/auth';
import type { executor } from '#contracts/bus/executor';
import type { registry } from '#contracts/bus/registry';
import type { TemplateReference } from '#contracts/call';
import type { CompiledTemplate } from '#contracts/template';
import type { Database } from '#database';
import type { CheckValue, SchemaChecker } from '#json-schema';
import { createLookupCache } from '#cache';
import type { Logger } from '#telemetry';
import type { Lookups, LookupTopic } from '../deps.ts';
import { listLiveRules } from '../rules/rule.sql.ts';
import { checkGenuine } from '../services/genuine-template.ts';
import { isKnownAddress } from '../services/known-address.sql.ts';

interface LookupDeps {
  readonly db: Database;
  readonly auth: Client<typeof auth>;
  readonly registry: Client<typeof registry>;
  readonly executor: Client<typeof executor>;
  readonly schemas: SchemaChecker;
  readonly logger: Logger;
}

/**
 * How long a cached answer is used when the event that should invalidate it was lost
 * (docs/reference/permissions.md#freshness).
 */
const ttlMs = 1_000;
const lookUpTimeoutMs = 2_000;

export function createLookups(sources: LookupDeps): Lookups {
  const { db, auth, registry, executor, schemas } = sources;
  const chains = createCache(10_000, ([orgId = '', identityId = '']) =>
    auth.getChain({ orgId, identityId }, createLookUpDeadline()),
  );
  const rules = createCache(10_000, ([orgId = '', ...identityIds]) =>
    listLiveRules(db, { orgId, identityIds }),
  );
  const services = createCache(10_000, ([orgId = '', userId = '', name = '']) =>
    registry.resolveService({ orgId, userId, name }, createLookUpDeadline()),
  );
  const hosts = createCache(2_000, ([orgId = '', userId = '', host = '']) =>
    registry.findByHost({ orgId, userId, host }, createLookUpDeadline()),
  );
  const secrets = createCache(10_000, async ([orgId = '', userId = '', ...names]) => {
    const descriptions = await executor.describeSecrets(
      { orgId, userId, names },
      createLookUpDeadline(),
    );
    return descriptions.secrets;
  });
  const connections = createCache(10_000, async ([orgId = '', userId = '', ...names]) => {
    const request = { orgId, userId, names };
    const descriptions = await executor.describeConnections(request, createLookUpDeadline());
    return descriptions.connections;
  });
  const fetchTemplate = (at: TemplateCacheKey) =>
    registry.getCompiledTemplate(at, createLookUpDeadline());
  const uncheckedTemplates = createTemplateCache(fetchTemplate);
  const templates = createTemplateCache(async (templateKey) => {
    const template = await fetchTemplate(templateKey);
    await checkGenuine(sources, templateKey, template);
    return template;
  });
  const cachesByTopic: Record<LookupTopic, readonly { drop(): void }[]> = {
    chains: [chains],
    services: [services, hosts],
    secrets: [secrets],
    connections: [connections],
    rules: [rules],
  };

  return {
    getChain: (orgId, identityId) => chains.get([orgId, identityId]),
    listRules: (orgId, chainIds) => rules.get([orgId, ...chainIds]),
    getService: ({ orgId, userId }, name) => services.get([orgId, userId, name]),
    findByHost: ({ orgId, userId }, host) => hosts.get([orgId, userId, host]),
    describeSecrets: async ({ orgId, userId }, names) =>
      names.length === 0 ? [] : secrets.get([orgId, userId, ...names.toSorted()]),
    describeConnections: async ({ orgId, userId }, names) =>
      names.length === 0 ? [] : connections.get([orgId, userId, ...names.toSorted()]),
    getTemplate: (orgId, template) => templates.get({ orgId, template }),
    getUncheckedTemplate: async (orgId, template) =>
      templates.peek({ orgId, template }) ?? uncheckedTemplates.get({ orgId, template }),
    isKnownAddress: createAddressCheck(sources),
    getValidator: createValidators(schemas),
    drop(topic) {
      for (const cache of cachesByTopic[topic]) cache.drop();
    },
  };
}

/**
 * Caches which base URLs were given by an admin. Such a URL never becomes invalid, so a positive
 * answer is kept. A negative answer is not cached.
 */
function createAddressCheck({ db, logger }: LookupDeps): Lookups['isKnownAddress'] {
  const knownAddresses = new LRUCache<string, true>({ max: 10_000 });
  return async (orgId, baseUrl) => {
    const key = `${orgId} ${baseUrl}`;
    if (knownAddresses.has(key)) return true;
    const isKnown = await isKnownAddress(db, { orgId, baseUrl });
    if (isKnown) knownAddresses.set(key, true);
    else
      logger.error(
        { orgId, baseUrl },
        'the registry gave a service an address that neither its template nor an admin gave',
      );
    return isKnown;
  };
}

function createValidators(schemas: SchemaChecker): Lookups['getValidator'] {
  const validators = new LRUCache<string, CheckValue>({ max: 2_000 });
  return (template, action) => {
    // For an MCP tool, the cache key contains the hash of the accepted definition, because another
    // definition of the tool may have been accepted since.
    const pin = template.mcp?.pins[action.key]?.hash ?? '';
    const key = `${templateIdOf(template)} ${action.key} ${pin}`;
    let validator = validators.get(key);
    if (validator === undefined) {
      validator = schemas.compile(action.paramsSchema);
      validators.set(key, validator);
    }
    return validator;
  };
}

interface TemplateCacheKey {
  readonly orgId: string;
  readonly template: TemplateReference;
}

interface TemplateCache {
  get(at: TemplateCacheKey): Promise<CompiledTemplate>;
  /** Returns the template only if it is cached, without asking the registry. */
  peek(at: TemplateCacheKey): CompiledTemplate | undefined;
}

function createTemplateCache(
  fetch: (at: TemplateCacheKey) => Promise<CompiledTemplate>,
): TemplateCache {
  const templates = createLookupCache({ max: 500, lookUp: fetch });
  return {
    get: (at) => templates.get(templateCacheKeyOf(at), at),
    peek: (at) => templates.peek(templateCacheKeyOf(at)),
  };
}

/** The cache key contains the org, because a published template belongs to one org. */
function templateCacheKeyOf({ orgId, template }: TemplateCacheKey): string {
  const { tier, toolset } = template;
  const toolsetText = toolset === undefined ? '' : ` ${toolset.serviceId} ${toolset.version}`;
  return `${tier === 'global' ? '' : orgId} ${templateIdOf(template)}${toolsetText}`;
}

function templateIdOf({
  tier,
  ownerId,
  key,
  version,
}: TemplateReference | CompiledTemplate): string {
  return `${tier} ${ownerId ?? ''} ${key} ${version}`;
}

/**
 * A look-up has its own deadline, because several requests with different deadlines may wait for
 * it.
 */
function createLookUpDeadline(): Deadline {
  return deadlineIn(lookUpTimeoutMs);
}

/** A cache whose answers are valid for one second. */
function createCache<Value extends object>(
  max: number,
  lookUp: (parts: readonly string[]) => Promise<Value>,
): { get(parts: readonly string[]): Promise<Value>; drop(): void } {
  const cache = createLookupCache<string, Value>({
    max,
    ttlMs,
    // The look-up takes its arguments from the cache key, so two different look-ups cannot share an
    // answer.
    lookUp: (key) => lookUp(key.split('\n')),
  });
  return {
    get(parts) {
      const key = parts.join('\n');
      return cache.get(key, key);
    },
    drop: () => cache.drop(),
  };
}
