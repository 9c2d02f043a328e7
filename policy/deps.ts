import type { Client } from '#bus';
import type { auth } from '#contracts/bus/auth';
import type { executor } from '#contracts/bus/executor';
import type { registry, ServiceRecord } from '#contracts/bus/registry';
import type { TemplateReference } from '#contracts/call';
import type { DecisionStatement } from '#contracts/decision';
import type { Gap, Permit } from '#contracts/permit';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { ChainLink, Principal, Role } from '#contracts/vocabulary';
import type { Database } from '#database';
import type { CheckValue } from '#json-schema';
import type { Signer, Verifier } from '#signing';
import type { Logger } from '#telemetry';
import type { Rule } from './rules/domain/rule.ts';
import type { RuleUse } from './rules/rule-use.ts';

/** The dependencies of every use case. */
export interface Deps {
  readonly db: Database;
  readonly logger: Logger;
  readonly auth: Client<typeof auth>;
  readonly executor: Client<typeof executor>;
  readonly registry: Client<typeof registry>;
  /** Cached answers of other components. Each answer is at most a second old. */
  readonly lookups: Lookups;
  /** Verifies a signed principal; throws `unauthenticated` when it is forged or too old. */
  readonly readPrincipal: (signed: string) => Principal;
  readonly permitSigner: Signer<Permit>;
  readonly gapSigner: Signer<Gap>;
  readonly gapVerifier: Verifier<Gap>;
  readonly decisionVerifier: Verifier<DecisionStatement>;
  readonly ruleUse: RuleUse;
  /**
   * Milliseconds since the epoch, for checking signatures only. The clock of Postgres decides when
   * a rule expires.
   */
  readonly now: () => number;
  readonly newId: () => string;
}

export interface SecretDescription {
  /** The requested name, in the form that permission keys use. */
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
  /** The role of a user; null for agents. */
  readonly role: Role | null;
  /**
   * For each agent of the chain, the OAuth clients that act as this agent and have
   * `self_approve_enabled`.
   */
  readonly selfApproving: readonly {
    readonly agentId: string;
    readonly clientIds: readonly string[];
  }[];
}

export interface HostMembers {
  readonly services: readonly ServiceRecord[];
  readonly templates: readonly TemplateReference[];
  /** Whether the host has more services than this list contains. */
  readonly isCut: boolean;
}

/** A user of an org. Services and secrets are looked up on behalf of this user. */
export interface Owner {
  readonly orgId: string;
  readonly userId: string;
}

export type LookupTopic = 'chains' | 'services' | 'secrets' | 'connections' | 'rules';

/**
 * Cached answers of other components and of policy's own tables. Each answer is at most a second
 * old and is dropped as soon as an event says that it has changed.
 */
export interface Lookups {
  getChain(orgId: string, identityId: string): Promise<Chain>;
  /**
   * Every rule in force on the org and on these identities. The ids are the whole chain of the last
   * identity.
   */
  listRules(orgId: string, chainIds: readonly string[]): Promise<readonly Rule[]>;
  getService(owner: Owner, name: string): Promise<ServiceRecord>;
  findByHost(owner: Owner, host: string): Promise<HostMembers>;
  describeSecrets(owner: Owner, names: readonly string[]): Promise<readonly SecretDescription[]>;
  describeConnections(
    owner: Owner,
    names: readonly string[],
  ): Promise<readonly ConnectionDescription[]>;
  /**
   * The template as it was shipped or published. Throws `unavailable` if the registry returns
   * another template. The content of a version never changes, so it stays cached as long as there
   * is room.
   */
  getTemplate(orgId: string, template: TemplateReference): Promise<CompiledTemplate>;
  /**
   * The template as the registry returns it, unchecked. It is used only for neighbouring templates
   * with which a call is compared: a dishonest registry could leave these out anyway.
   */
  getUncheckedTemplate(orgId: string, template: TemplateReference): Promise<CompiledTemplate>;
  /** Whether an admin of the org gave this base URL. A positive answer stays cached. */
  isKnownAddress(orgId: string, baseUrl: string): Promise<boolean>;
  getValidator(template: CompiledTemplate, action: CompiledAction): CheckValue;
  drop(topic: LookupTopic): void;
}
