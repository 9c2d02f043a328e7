import type { DecisionWordName, FieldOfWords } from '#contracts/decision-words';
import type { ResolveApprovalBody } from '#contracts/http/approvals';

/** A valid value for each field that only some decision words accept. */
export const sampleFields = {
  remember_keys: ['github:issues.create:acme/site'],
  ttl: '1h',
} as const satisfies Record<FieldOfWords, unknown>;

/**
 * A valid body for each decision word. The bodies have a `ttl` where agents and MCP callers must
 * give one.
 */
export const sampleDecisions: Record<DecisionWordName, ResolveApprovalBody> = {
  allow: { resolution: 'allow' },
  allow_once: { resolution: 'allow_once' },
  allow_remember: { resolution: 'allow_remember', ttl: sampleFields.ttl },
  allow_always: { resolution: 'allow_always', ttl: sampleFields.ttl },
  deny: { resolution: 'deny' },
  bubble: { resolution: 'bubble' },
};
