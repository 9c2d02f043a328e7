import type { DecisionWordName, FieldOfWords } from '#contracts/decision-words';
import type { ResolveApprovalBody } from '#contracts/http/approvals';

/** A valid value for each field that only some words take. */
export const sampleFields = {
  remember_keys: ['github:issues.create:acme/site'],
  ttl: '1h',
} as const satisfies Record<FieldOfWords, unknown>;

/** A valid body for each word, also for agents and MCP callers, who must give a `ttl`. */
export const sampleDecisions: Record<DecisionWordName, ResolveApprovalBody> = {
  allow: { resolution: 'allow' },
  allow_once: { resolution: 'allow_once' },
  allow_remember: { resolution: 'allow_remember', ttl: sampleFields.ttl },
  allow_always: { resolution: 'allow_always', ttl: sampleFields.ttl },
  deny: { resolution: 'deny' },
  bubble: { resolution: 'bubble' },
};
