import { blankAuditEntry } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import type { EventType } from '#contracts/events';
import type { Rule } from '#contracts/http/rules';
import type {
  CallContext,
  ChainLink,
  IdentityReference,
  JsonValue,
  Principal,
} from '#contracts/vocabulary';

/** The event, in the form that `appendEvent` takes. */
interface RuleEvent {
  readonly type: Extract<EventType, 'rule.created' | 'rule.deleted'>;
  readonly orgId: string;
  readonly audience: readonly string[];
  readonly data: Record<string, JsonValue>;
  readonly audit: AuditEntry;
}

export interface Actor {
  readonly userId: string;
  readonly identity: IdentityReference;
  readonly credential: AuditEntry['credential'];
  readonly context: CallContext | undefined;
}

/**
 * The event about a created or deleted rule. `chain` is the chain of the identity that the rule is
 * on. It is empty for a rule on the org.
 */
export function ruleEvent(
  type: RuleEvent['type'],
  rule: Rule,
  { actor, chain }: { actor: Actor; chain: readonly ChainLink[] },
): RuleEvent {
  const targetName = chain.at(-1)?.name ?? 'the whole org';
  const verb = type === 'rule.created' ? 'Created' : 'Deleted';
  return {
    type,
    orgId: rule.org_id,
    audience: chain.map(({ id }) => id),
    data: {
      rule_id: rule.id,
      identity_id: rule.identity_id,
      effect: rule.effect,
      pattern: rule.pattern,
      created_by: rule.created_by,
      approval_id: rule.approval_id,
      expires_at: rule.expires_at,
    },
    audit: {
      ...blankAuditEntry(
        shortenPattern(`${verb} a rule for ${targetName}: ${rule.effect} ${rule.pattern}`),
      ),
      user_id: actor.userId,
      identity: actor.identity,
      credential: actor.credential,
      permission_keys: [rule.pattern],
      approval_id: rule.approval_id,
      request_id: actor.context?.requestId ?? null,
      trace_id: actor.context?.traceId ?? null,
      ip: actor.context?.ip ?? null,
    },
  };
}

export function actorOf(caller: Principal, context: CallContext | undefined): Actor {
  const { kind, id, clientId } = caller.credential;
  return {
    userId: caller.userId,
    identity: referenceOf(caller.chain),
    credential: { kind, id, client_id: clientId },
    context,
  };
}

/** The last identity of a chain, in the form that audit rows use. */
export function referenceOf(chain: readonly ChainLink[]): IdentityReference {
  const link = chain.at(-1);
  if (link === undefined) throw new Error('a chain begins with a user');
  return { id: link.id, kind: link.kind, name: link.name, path: chain.map(({ name }) => name) };
}

function shortenPattern(text: string): string {
  return text.length > 2000 ? `${text.slice(0, 1999)}…` : text;
}
