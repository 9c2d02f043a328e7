import type { CallsInHand } from '#beats';
import type { Client, Deadline, FileWriter } from '#bus';
import type { OrgSettings } from '#contracts/bus/auth';
import type { registry } from '#contracts/bus/registry';
import type { TemplateReference } from '#contracts/call';
import type { Gap, Permit } from '#contracts/permit';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { Principal } from '#contracts/vocabulary';
import type { Database } from '#database';
import type { Egress } from '#egress';
import type { Publisher, Relay } from '#events';
import type { AuditShare, CallerIds } from '#shares';
import type { Macs } from '#signing';
import type { Logger } from '#telemetry';
import type { DispatchWrites } from './calls/dispatch-writes.ts';
import type { DerivedTokens } from './derived-credentials/derived-tokens.ts';
import type { FileSpace } from './limits/file-space.ts';
import type { JqPool } from './jq/pool.ts';
import type { Retries } from './limits/retries.ts';
import type { McpSessions } from './mcp/session.ts';
import type { ToolChanges } from './mcp/tool-changes.ts';
import type { ConnectionDeps } from './connections/open-connections.ts';
import type { Owners } from './sending/ask-owner.ts';
import type { ListServiceHosts } from './credentials/check-known-hosts.ts';
import type { Params } from './request/domain/built-request.ts';
import type { PermitOrGap } from './request/permit.ts';
import type { Vault } from './vault/vault.ts';

/** The version of a template by which policy decided a call. */
export interface DecidedTemplate {
  readonly orgId: string;
  readonly template: TemplateReference;
  readonly digest: string | null;
}

export interface Deps extends ConnectionDeps {
  readonly db: Database;
  readonly dispatchWrites: DispatchWrites;
  readonly egress: Egress;
  readonly jq: JqPool;
  readonly vault: Vault;
  readonly derivedTokens: DerivedTokens;
  /**
   * Publishes events to the stream directly, without the outbox. Reads need it, because they write
   * no database row.
   */
  readonly publisher: Publisher;
  readonly relay: Pick<Relay, 'backlog' | 'isAuditBlocked'>;
  /** Whether the operator allows plain http to this host (setting EGRESS_ALLOW). */
  readonly isPlainHttpAllowed: (host: string) => boolean;
  readonly describeTemplateOauth: Client<typeof registry>['describeTemplateOauth'];
  /**
   * Asks policy for the hosts of a service. Policy knows them from the templates, and from base
   * URLs that were given to policy itself, so the registry cannot lie about them.
   */
  readonly listServiceHosts: ListServiceHosts;
  readonly logger: Logger;
  /**
   * The most bytes of a request body that the executor builds as a form: the setting
   * CAP_SENT_BODY_BYTES.
   */
  readonly bodyBytesMax: number;
  /** Upstream bodies up to this size are part of the result. */
  readonly inlineBytesMax: number;
  /** Larger bodies up to this size are kept as files. */
  readonly storedBytesMax: number;
  readonly files: FileWriter;
  readonly fileSpace: FileSpace;
  readonly auditShare: AuditShare;
  /**
   * The limit of requests to people (for accounts and secrets) per org and hour. 0 means no limit.
   */
  readonly requestsPerHour: number;
  /** The components that own the actions of the service `platform`. */
  readonly owners: Owners;
  /** Whether calls to services carry their trace context: the setting EGRESS_TRACE_CONTEXT. */
  readonly sendsTraceContext: boolean;
  /** The address of the gateway, from which files are downloaded. */
  readonly baseUrl: string;
  readonly slots: Slots;
  readonly disconnects: Disconnects;
  /** Tells the gateways which calls this executor is running. */
  readonly callsInHand: CallsInHand;
  readonly recordIds: RecordIds;
  readonly retries: Retries;
  readonly lookUpNames: LookUpNames;
  /** The open sessions with MCP servers of a protocol revision that has sessions. */
  readonly mcpSessions: McpSessions;
  readonly toolChanges: ToolChanges;
  /**
   * `readPrincipal`, `verifyPermit` and `verifyGap` throw `unauthenticated` when the signature is
   * wrong or the statement has expired.
   */
  readPrincipal(signed: string): Principal;
  verifyPermit(signed: string): Permit;
  verifyGap(signed: string): Gap;
  /**
   * Makes the message authentication codes by which the gateway checks that the executor made an
   * approval card.
   */
  readonly cards: Macs;
  getTemplate(at: DecidedTemplate, deadline: Deadline): Promise<CompiledTemplate>;
  /** Asks the registry, because no other component knows services. */
  readonly findSecretUses: Client<typeof registry>['findSecretUses'];
  /** Undefined when auth does not answer. A caller must then use the stricter setting. */
  findOrgSettings(orgId: string): Promise<OrgSettings | undefined>;
}

/**
 * Looks up readable names for opaque ids, for the description on the approval card. Never throws: a
 * name that cannot be found is left out (docs/reference/approvals.md#the-card).
 */
export type LookUpNames = (lookUp: {
  permit: PermitOrGap;
  action: CompiledAction;
  params: Params;
  baseUrl: string;
}) => Promise<Record<string, string>>;

/**
 * Limits how many calls are under way, so that a slow upstream cannot fill the executor's memory.
 */
export interface Slots {
  /**
   * Admits a call that begins. When too many calls are admitted, throws the errors of
   * `enterUpstream`. Dispose the slot when the call has ended.
   */
  take(caller: CallerIds): Slot;
  /** True while all slots are taken, and for some seconds after a call found no slot. */
  isBusy(): boolean;
  /** The slots that are taken now. */
  taken(): number;
  /**
   * From now on no call waits for a slot, because this executor is stopping. Other executors may
   * have free slots.
   */
  stopWaiting(): void;
}

export interface Slot extends Disposable {
  /**
   * Takes a slot once the upstream of the call is known. If the upstream or the caller has used up
   * its share, the call waits for a small part of `timeoutMs`; when a slot becomes free, the caller
   * that holds the fewest gets it. Throws `rate_limited` when only the caller's share is used up,
   * and otherwise `unavailable`; both have the detail `busy`.
   */
  enterUpstream(url: string, timeoutMs?: number): Promise<void>;
}

/**
 * Makes the ids of the records of reads: every executor that runs the same read gets the same id.
 */
export interface RecordIds {
  /** The id of the event that records the outcome of the read with this audit id. */
  ofRead(auditId: string): string;
}

/** Stops reads whose client has disconnected. */
export interface Disconnects {
  /**
   * Watches for the client of one read, named by the id of its audit record, to disconnect. Dispose
   * the result when the read has ended.
   */
  follow(auditId: string): FollowedRead;
}

export interface FollowedRead extends Disposable {
  /** Aborts when the gateway reports that the client has disconnected. */
  readonly signal: AbortSignal;
}
