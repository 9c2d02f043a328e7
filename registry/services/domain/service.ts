import type { ServiceRecord } from '#contracts/bus/registry';
import type { TemplateReference } from '#contracts/call';
import type { Principal, Tier } from '#contracts/vocabulary';
import type { Credentials } from './credentials.ts';

/** A connected service: a named instance of a template, with its credentials. */
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
  /** The values of the variables in the server URL. */
  readonly variables: Readonly<Record<string, string>>;
  readonly isBaseUrlGiven: boolean;
  /** True when the owner has disabled the service or somebody has disabled its template. */
  readonly isDisabled: boolean;
  /**
   * The published version of the service's template. Null for a built-in template; the catalog has
   * its newest version.
   */
  readonly publishedVersion: number | null;
  readonly createdAt: Date;
  /**
   * For an MCP server: when the registry last asked for its tools, and the error code if that
   * failed.
   */
  readonly toolsAskedAt: Date | null;
  readonly toolsError: string | null;
  /** How many of its tools are new or changed, and not accepted. */
  readonly toolsWaiting: number;
}

/**
 * Splits a reference to a service. `org/github` means the org's service even when the user has a
 * service with the same name.
 */
export function parseServiceName(reference: string): { name: string; isOrgOnly: boolean } {
  const isOrgOnly = reference.startsWith('org/');
  return { name: isOrgOnly ? reference.slice('org/'.length) : reference, isOrgOnly };
}

/** The name in the form that permission keys use: a service of the org has the prefix `org/`. */
export function nameInKeys({ tier, name }: Pick<Service, 'tier' | 'name'>): string {
  return tier === 'org' ? `org/${name}` : name;
}

/**
 * The names by which a user calls these services. A service of the org has its prefix `org/` only
 * when the user has a service with the same name.
 */
export function namesInCalls(services: readonly Pick<Service, 'tier' | 'name'>[]): string[] {
  const ownNames = new Set(services.filter(({ tier }) => tier === 'user').map(({ name }) => name));
  return services.map((service) =>
    ownNames.has(service.name) ? nameInKeys(service) : service.name,
  );
}

/**
 * Whether the caller may change services. Agents may not, because services restrict agents;
 * auditors may not change anything
 * (docs/reference/permissions.md#agents-never-write-what-gates-them).
 */
export function mayWriteServices(caller: Principal, tier: Tier): boolean {
  if (caller.kind !== 'user' || caller.role === 'auditor') return false;
  return tier === 'user' || caller.role === 'admin';
}

/**
 * Whether the caller may give a base URL, which sends credentials to a host that a person typed.
 * Admins may do so for self-hosted products and for services of the org.
 */
export function mayGiveBaseUrl(
  caller: Principal,
  { tier, baseUrlAllowed }: { tier: Tier; baseUrlAllowed: boolean },
): boolean {
  return caller.kind === 'user' && caller.role === 'admin' && (baseUrlAllowed || tier === 'org');
}

/**
 * The data of a service for policy and executor. It does not say whether the credentials work,
 * because both check that for each call.
 */
export function serviceRecordOf(service: Service): ServiceRecord {
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
    ...(service.schemes === undefined ? {} : { schemes: [...service.schemes] }),
  };
}
