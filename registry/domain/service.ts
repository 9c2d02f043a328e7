import type { ServiceRecord } from '#contracts/bus/registry';
import type { TemplateReference } from '#contracts/call';
import type { Principal, Tier } from '#contracts/vocabulary';
import type { Credentials } from './credentials.ts';

/** A connected service: a named instance of a template, bound to credentials. */
export interface Service extends Credentials {
  readonly id: string;
  readonly orgId: string;
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly name: string;
  readonly template: TemplateReference;
  readonly title: string;
  readonly baseUrl: string;
  readonly hosts: readonly string[];
  readonly autoAllowReads: boolean;
  /** What its address was made from. */
  readonly variables: Readonly<Record<string, string>>;
  readonly isBaseUrlGiven: boolean;
  /** By its owner, or because its template is. */
  readonly isDisabled: boolean;
  /** Of its template; null for built-in ones, whose newest version the catalog has. */
  readonly publishedVersion: number | null;
  readonly createdAt: Date;
  /** Of MCP servers: when they were last asked for their tools, and the error code if that failed. */
  readonly toolsAskedAt: Date | null;
  readonly toolsError: string | null;
}

/** `org/github` skips a user's own service. */
export function parseServiceName(reference: string): { name: string; isOrgOnly: boolean } {
  const isOrgOnly = reference.startsWith('org/');
  return { name: isOrgOnly ? reference.slice('org/'.length) : reference, isOrgOnly };
}

/** The name as it stands in permission keys, where `org/` is part of it. */
export function nameInKeys({ tier, name }: Pick<Service, 'tier' | 'name'>): string {
  return tier === 'org' ? `org/${name}` : name;
}

/** As calls name them: the org's needs its prefix only where a user's own has the same name. */
export function namesInCalls(services: readonly Pick<Service, 'tier' | 'name'>[]): string[] {
  const own = new Set(services.filter(({ tier }) => tier === 'user').map(({ name }) => name));
  return services.map((service) => (own.has(service.name) ? nameInKeys(service) : service.name));
}

/**
 * Agents never write what gates them, and auditors change nothing
 * (docs/reference/permissions.md#agents-never-write-what-gates-them).
 */
export function mayWriteServices(caller: Principal, tier: Tier): boolean {
  if (caller.kind !== 'user' || caller.role === 'auditor') return false;
  return tier === 'user' || caller.role === 'admin';
}

/**
 * Another address than the template's binds credentials to a host somebody typed: an admin may
 * give one for products that are self-hosted, and for any service of the org.
 */
export function mayGiveBaseUrl(
  caller: Principal,
  { tier, baseUrlAllowed }: { tier: Tier; baseUrlAllowed: boolean },
): boolean {
  return caller.kind === 'user' && caller.role === 'admin' && (baseUrlAllowed || tier === 'org');
}

/** What policy and executor are told. Whether its credentials work is theirs to look at, call by call. */
export function recordOf(service: Service): ServiceRecord {
  return {
    id: service.id,
    name: nameInKeys(service),
    tier: service.tier,
    ownerId: service.ownerId,
    template: service.template,
    status: service.isDisabled ? 'disabled' : 'ready',
    autoAllowReads: service.autoAllowReads,
    baseUrl: service.baseUrl,
    hosts: [...service.hosts],
    secrets: { ...service.secrets },
    connection: service.connection,
  };
}
