import type { Client, Deadline, FileWriter } from '#bus';
import type { OrgSettings } from '#contracts/bus/auth';
import type { registry } from '#contracts/bus/registry';
import type { TemplateReference } from '#contracts/call';
import type { Gap, Permit } from '#contracts/permit';
import type { CompiledTemplate } from '#contracts/template';
import type { Principal } from '#contracts/vocabulary';
import type { Database } from '#database';
import type { Egress } from '#egress';
import type { Publisher } from '#events';
import type { AuditShare, CallerIds } from '#shares';
import type { Macs } from '#signing';
import type { Logger } from '#telemetry';
import type { FileSpace } from './calls/file-space.ts';
import type { JqPool } from './jq/pool.ts';
import type { LookUpNames } from './calls/look-up-names.ts';
import type { Retries } from './retries.ts';
import type { McpSessions } from './mcp/session.ts';
import type { ToolChanges } from './mcp/tool-changes.ts';
import type { ConnectionDeps } from './connections/index.ts';
import type { Owners } from './platform/ask.ts';
import type { ListServiceHosts } from './usecases/known-hosts.ts';
import type { Vault } from './vault/vault.ts';

/** What the use cases are given. */
/** The template that policy decided a call by. */
export interface DecidedTemplate {
  readonly orgId: string;
  readonly template: TemplateReference;
  readonly digest: string | null;
}

export interface Deps extends ConnectionDeps {
  readonly db: Database;
  readonly egress: Egress;
  readonly jq: JqPool;
  readonly vault: Vault;
  /** Straight to the stream, for reads, which have no row of their own. */
  readonly publisher: Publisher;
  /** The operator lets this host be reached by plain http (setting EGRESS_ALLOW). */
  readonly isPlainHttpAllowed: (host: string) => boolean;
  readonly describeTemplateOauth: Client<typeof registry>['describeTemplateOauth'];
  /** Asked of policy, which knows templates and given base URLs without the registry. */
  readonly listServiceHosts: ListServiceHosts;
  readonly logger: Logger;
  /** Upstream bodies up to this size are part of the answer. */
  readonly inlineBytesMax: number;
  /** Larger ones, up to this size, are kept as files. */
  readonly storedBytesMax: number;
  readonly files: FileWriter;
  readonly fileSpace: FileSpace;
  readonly auditShare: AuditShare;
  /** To people, in one org: for accounts and for secrets; 0 = no limit. */
  readonly requestsPerHour: number;
  /** Of the actions of the service `platform`. */
  readonly owners: Owners;
  /** Of the gateway: where files are downloaded. */
  readonly baseUrl: string;
  readonly slots: Slots;
  readonly disconnects: Disconnects;
  readonly retries: Retries;
  readonly lookUpNames: LookUpNames;
  /** With MCP servers of the eras that have them. */
  readonly mcpSessions: McpSessions;
  readonly toolChanges: ToolChanges;
  /** Throw `unauthenticated` for what was not signed by its owner, or has run out. */
  readPrincipal(signed: string): Principal;
  verifyPermit(signed: string): Permit;
  verifyGap(signed: string): Gap;
  /** What approvals show of a call, for the gateway to check. */
  readonly cards: Macs;
  getTemplate(at: DecidedTemplate, deadline: Deadline): Promise<CompiledTemplate>;
  /** Asked of the registry, which alone knows services. */
  readonly findSecretUses: Client<typeof registry>['findSecretUses'];
  /** Undefined when auth does not answer: the stricter way then. */
  findOrgSettings(orgId: string): Promise<OrgSettings | undefined>;
}

/** Calls under way are limited, so that a slow upstream cannot fill the executor's memory. */
export interface Slots {
  /** For a call that begins; throws as `enterUpstream` does when too many are in hand. Dispose it when the call has ended. */
  take(caller: CallerIds): Slot;
  /** Calls were refused just now because there was no slot for anybody, or soon will be. */
  isBusy(): boolean;
  /** From now on nobody waits: other executors have room, or the caller is told at once. */
  stopWaiting(): void;
}

export interface Slot extends Disposable {
  /**
   * Holds a slot from here on, once it is known whose upstream the call is of. When there is none for
   * that upstream, or the caller's share is used up, it waits, if `timeoutMs` says how long the call
   * may take: a small part of that, and behind callers that hold fewer. Throws `unavailable`, or
   * `rate_limited` when it is only the caller's share that is used up (`busy` both).
   */
  enterUpstream(url: string, timeoutMs?: number): Promise<void>;
}

/** Reads that end early when nobody waits for their answer any more. */
export interface Disconnects {
  /** The read that will be recorded under this id; dispose it when the read has ended. */
  follow(auditId: string): Followed;
}

export interface Followed extends Disposable {
  /** Aborts when the gateway says that the client has gone. */
  readonly signal: AbortSignal;
}
