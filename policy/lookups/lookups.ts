import { LRUCache } from 'lru-cache';

import { deadlineIn } from '#bus';
import type { Client, Deadline } from '#bus';
import type { auth } from '#contracts/bus/auth';
import type { executor } from '#contracts/bus/executor';
import type { registry, ServiceRecord } from '#contracts/bus/registry';
import type { TemplateReference } from '#contracts/call';
import type { CompiledAction, CompiledParam, CompiledTemplate } from '#contracts/template';
import type { ChainLink, Role } from '#contracts/vocabulary';
import type { Database } from '#database';
import type { CheckValue, SchemaChecker } from '#json-schema';
import { createLookupCache } from '#cache';
import type { Logger } from '#telemetry';
import type { Rule } from '../domain/rules.ts';
import { compileParamCheck } from '../domain/validate-params.ts';
import type { ParamCheck } from '../domain/validate-params.ts';
import { isKnownAddress } from '../repository/known-address.ts';
import { listLiveRules } from '../repository/rules.ts';
import { checkGenuine } from './genuine-template.ts';

export interface SecretDescription {
  /** The name as it was asked for, and as it stands in permission keys. */
  readonly asked: string;
  readonly reference: string;
  readonly id: string;
  readonly allowedHosts: readonly string[];
}

export type ConnectionDescription = Awaited<
  ReturnType<Client<typeof executor>['describeConnections']>
>['connections'][number];

export interface Chain {
  readonly active: boolean;
  readonly chain: readonly ChainLink[];
  /** A user's own. */
  readonly role: Role | null;
  /** Clients with `self_approve_enabled`, by the agent of the chain that they act as. */
  readonly selfApproving: readonly {
    readonly agentId: string;
    readonly clientIds: readonly string[];
  }[];
}

export interface HostMembers {
  readonly services: readonly ServiceRecord[];
  readonly templates: readonly TemplateReference[];
  /** There are more than these. */
  readonly isCut: boolean;
}

/** A tenant's user: services and secrets are looked up in its name. */
export interface Owner {
  readonly orgId: string;
  readonly userId: string;
}

export type Topic = 'chains' | 'services' | 'secrets' | 'connections' | 'rules';

/** What others know. Each answer is at most a second old, and dropped at once by the event that changes it. */
export interface Lookups {
  getChain(orgId: string, identityId: string): Promise<Chain>;
  /** Every live rule of the org and of these identities, which are the chain of the last one. */
  listRules(orgId: string, chainIds: readonly string[]): Promise<readonly Rule[]>;
  getService(owner: Owner, name: string): Promise<ServiceRecord>;
  findByHost(owner: Owner, host: string): Promise<HostMembers>;
  describeSecrets(owner: Owner, names: readonly string[]): Promise<readonly SecretDescription[]>;
  describeConnections(
    owner: Owner,
    names: readonly string[],
  ): Promise<readonly ConnectionDescription[]>;
  /**
   * As it was shipped or published, else `unavailable`. A compiled version never changes: kept for
   * as long as there is room.
   */
  getTemplate(orgId: string, template: TemplateReference): Promise<CompiledTemplate>;
  /**
   * The same on the registry's word alone: for what is compared with a call and not called, which
   * the registry could leave out just as well.
   */
  getUncheckedTemplate(orgId: string, template: TemplateReference): Promise<CompiledTemplate>;
  /** Whether an admin of the org gave this base URL; kept once it is known. */
  isKnownAddress(orgId: string, baseUrl: string): Promise<boolean>;
  getValidator(template: CompiledTemplate, action: CompiledAction): CheckValue;
  /** Whether a value satisfies the schema of a parameter; made when it is first asked for. */
  getParamCheck(param: CompiledParam): ParamCheck;
  drop(topic: Topic): void;
}

interface Sources {
  readonly db: Database;
  readonly auth: Client<typeof auth>;
  readonly registry: Client<typeof registry>;
  readonly executor: Client<typeof executor>;
  readonly schemas: SchemaChecker;
  readonly logger: Logger;
}

/** How long an answer may be used when its event is lost (docs/reference/permissions.md#freshness). */
const ttlMs = 1_000;
const lookUpTimeoutMs = 2_000;

export function createLookups(sources: Sources): Lookups {
  const { db, auth, registry, executor, schemas } = sources;
  const chains = createCache(10_000, ([orgId = '', identityId = '']) =>
    auth.getChain({ orgId, identityId }, lookUpDeadline()),
  );
  const rules = createCache(10_000, ([orgId = '', ...identityIds]) =>
    listLiveRules(db, { orgId, identityIds }),
  );
  const services = createCache(10_000, ([orgId = '', userId = '', name = '']) =>
    registry.resolveService({ orgId, userId, name }, lookUpDeadline()),
  );
  const hosts = createCache(2_000, ([orgId = '', userId = '', host = '']) =>
    registry.findByHost({ orgId, userId, host }, lookUpDeadline()),
  );
  const secrets = createCache(10_000, async ([orgId = '', userId = '', ...names]) => {
    const described = await executor.describeSecrets({ orgId, userId, names }, lookUpDeadline());
    return described.secrets;
  });
  const connections = createCache(10_000, async ([orgId = '', userId = '', ...names]) => {
    const request = { orgId, userId, names };
    const described = await executor.describeConnections(request, lookUpDeadline());
    return described.connections;
  });
  const fetchTemplate = (at: FetchTemplate) => registry.getCompiledTemplate(at, lookUpDeadline());
  const unchecked = createTemplateCache(fetchTemplate);
  const templates = createTemplateCache(async (at) => {
    const template = await fetchTemplate(at);
    await checkGenuine(sources, at, template);
    return template;
  });
  const byTopic: Record<Topic, readonly { drop(): void }[]> = {
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
      templates.peek({ orgId, template }) ?? unchecked.get({ orgId, template }),
    isKnownAddress: createAddressBook(sources),
    getValidator: createValidators(schemas),
    getParamCheck,
    drop(topic) {
      for (const cache of byTopic[topic]) cache.drop();
    },
  };
}

/** What an admin gave stays given, so only that is kept. */
function createAddressBook({ db, logger }: Sources): Lookups['isKnownAddress'] {
  const known = new LRUCache<string, true>({ max: 10_000 });
  return async (orgId, baseUrl) => {
    const key = `${orgId} ${baseUrl}`;
    if (known.has(key)) return true;
    const isKnown = await isKnownAddress(db, { orgId, baseUrl });
    if (isKnown) known.set(key, true);
    else logger.error({ orgId, baseUrl }, 'the registry puts a service where nobody else did');
    return isKnown;
  };
}

function createValidators(schemas: SchemaChecker): Lookups['getValidator'] {
  const validators = new LRUCache<string, CheckValue>({ max: 2_000 });
  return (template, action) => {
    // Of an MCP tool what was accepted: its service may have accepted another since.
    const pin = template.mcp?.pins[action.key]?.hash ?? '';
    const key = `${templateId(template)} ${action.key} ${pin}`;
    let validator = validators.get(key);
    if (validator === undefined) {
      validator = schemas.compile(action.paramsSchema);
      validators.set(key, validator);
    }
    return validator;
  };
}

/** A template is kept as the one object it came as, and the checks of its parameters with it. */
const paramChecks = new WeakMap<CompiledParam, ParamCheck>();

function getParamCheck(param: CompiledParam): ParamCheck {
  let check = paramChecks.get(param);
  if (check === undefined) paramChecks.set(param, (check = compileParamCheck(param.schema)));
  return check;
}

interface FetchTemplate {
  readonly orgId: string;
  readonly template: TemplateReference;
}

interface TemplateCache {
  get(at: FetchTemplate): Promise<CompiledTemplate>;
  /** Only what is there already. */
  peek(at: FetchTemplate): CompiledTemplate | undefined;
}

function createTemplateCache(
  fetch: (at: FetchTemplate) => Promise<CompiledTemplate>,
): TemplateCache {
  const templates = createLookupCache({ max: 500, lookUp: fetch });
  return {
    get: (at) => templates.get(keyOf(at), at),
    peek: (at) => templates.peek(keyOf(at)),
  };
}

/** What is published is published for one org. */
function keyOf({ orgId, template }: FetchTemplate): string {
  const { tier, toolset } = template;
  const tools = toolset === undefined ? '' : ` ${toolset.serviceId} ${toolset.version}`;
  return `${tier === 'global' ? '' : orgId} ${templateId(template)}${tools}`;
}

function templateId({ tier, ownerId, key, version }: TemplateReference | CompiledTemplate): string {
  return `${tier} ${ownerId ?? ''} ${key} ${version}`;
}

/** A look-up serves everybody who waits for it, so it has a deadline of its own. */
function lookUpDeadline(): Deadline {
  return deadlineIn(lookUpTimeoutMs);
}

/** Answers are good for a second. */
function createCache<Value extends object>(
  max: number,
  lookUp: (parts: readonly string[]) => Promise<Value>,
): { get(parts: readonly string[]): Promise<Value>; drop(): void } {
  const cache = createLookupCache<string, Value>({
    max,
    ttlMs,
    // What is asked is read from the key, so that no two questions share one.
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
