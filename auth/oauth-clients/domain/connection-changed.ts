import { auditEntryOf, callerNameOf } from '../../callers/domain/audit-entry.ts';
import type { ChangeOrigin } from '../../callers/domain/change-event.ts';
import type { Binding } from './oauth-connection.ts';

/**
 * This event makes gateways notify the OAuth client that its tools changed, and makes policy drop
 * its cached self-approval switches.
 */
export function connectionChangedEvent(
  { caller, context }: ChangeOrigin,
  { binding, sentence }: { binding: Binding; sentence: string },
) {
  return {
    type: 'mcp_connection.changed',
    orgId: binding.orgId,
    audience: [binding.userId, binding.agentId],
    data: {
      agent_id: binding.agentId,
      client_id: binding.clientId,
      user_id: binding.userId,
      self_approve_enabled: binding.selfApproveEnabled,
    },
    audit: auditEntryOf(
      caller,
      context,
      `${callerNameOf(caller)} ${sentence} (client ${binding.clientId}, agent ${binding.agentId}).`,
    ),
  } as const;
}
