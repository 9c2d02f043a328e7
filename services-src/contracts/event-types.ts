import type { Component } from './vocabulary.ts';

/**
 * Every event type, under the only component that may publish it, with the readers who may see it:
 * subscribers of webhooks and SSE, or (`internal`) only components, which drop caches, store rules
 * or write an audit row.
 */
export const eventTypesOf = {
  gateway: {
    'action.denied': 'internal',
    'action.refused': 'internal',
    /**
     * A call that may change something was answered with an unknown outcome before its own audit
     * record was stored.
     */
    'action.unanswered': 'internal',
    /** An attempt to decide, cancel or run an approval was refused. */
    'approval.refused': 'internal',
    /** Any other request to change something was refused because its caller lacks the right. */
    'request.refused': 'internal',
  },
  auth: {
    'identity.created': 'public',
    'identity.changed': 'internal',
    'identity.revoked': 'public',
    'agent_key.created': 'internal',
    'agent_key.revoked': 'internal',
    'session.created': 'internal',
    'session.ended': 'internal',
    'sign_in.failed': 'internal',
    'sign_in_link.created': 'internal',
    'sign_in_provider.changed': 'internal',
    'password.changed': 'internal',
    'user.invited': 'internal',
    'org.changed': 'internal',
    /**
     * An OAuth client was bound to an agent, bound to another agent or unbound, or its
     * self-approval was switched on or off.
     */
    'mcp_connection.changed': 'internal',
    /** An admin revoked a client for the org. */
    'oauth_client.revoked': 'internal',
    /**
     * A user authorized a client (`created`), and later ended the authorization (`revoked`), which
     * ends every token of the grant.
     */
    'oauth_grant.created': 'internal',
    'oauth_grant.revoked': 'internal',
    'oauth_token.revoked': 'internal',
  },
  registry: {
    'service.created': 'internal',
    'service.changed': 'internal',
    'service.deleted': 'internal',
    'registry.changed': 'internal',
    'template.saved': 'internal',
    'template.published': 'internal',
    'template.disabled': 'internal',
    'template.enabled': 'internal',
    'template.deleted': 'internal',
  },
  policy: {
    'rule.created': 'public',
    'rule.deleted': 'public',
  },
  executor: {
    'secret.created': 'internal',
    'secret.deleted': 'internal',
    'secret.changed': 'internal',
    'secret.requested': 'public',
    'secret.provided': 'public',
    /** A user or agent asked for access; no account is connected yet. */
    'connection.requested': 'internal',
    'connection.created': 'public',
    'connection.changed': 'internal',
    'connection.refreshed': 'internal',
    'connection.needs_reauth': 'public',
    /**
     * The provider left out scopes that it had left out before; requesting them again from its
     * account is in vain.
     */
    'connection.scopes_withheld': 'public',
    'connection.revoked': 'public',
    'oauth_app.changed': 'internal',
    /** A provider refused a credential with which it was called, or accepted it again. */
    'credential.refused': 'public',
    'credential.accepted': 'public',
    /** A person is asked for a service, an account or a secret. */
    'request.raised': 'public',
    /** The request was answered, taken back, or expired. */
    'request.closed': 'public',
    'action.intent': 'internal',
    'action.outcome': 'internal',
  },
  approvals: {
    'approval.raised': 'public',
    'approval.bubbled': 'public',
    'approval.resolved': 'public',
    'approval.remembered': 'internal',
    'execution.started': 'internal',
    'execution.finished': 'public',
  },
  notifier: {
    'webhook.created': 'internal',
    'webhook.changed': 'internal',
    'webhook.deleted': 'internal',
    'webhook.disabled': 'public',
    /**
     * A component published an event that only another component may publish. The audit log records
     * this event instead of the forged event. The notifier, which reads every event, reports forged
     * events in the stream EVENTS; the audit component itself records those in the stream AUDIT.
     */
    'event.refused': 'internal',
  },
  audit: {},
} as const satisfies Record<Component, Record<string, 'public' | 'internal'>>;

export const eventTypes = {
  ...eventTypesOf.approvals,
  ...eventTypesOf.executor,
  ...eventTypesOf.auth,
  ...eventTypesOf.policy,
  ...eventTypesOf.registry,
  ...eventTypesOf.notifier,
  ...eventTypesOf.gateway,
};

export type EventType = keyof typeof eventTypes;
export const publicEventTypes = Object.entries(eventTypes)
  .filter(([, visibility]) => visibility === 'public')
  .map(([type]) => type as EventType);
