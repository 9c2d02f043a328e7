import { exampleIds } from './example-call.ts';

const { org, user, agent, service, approval, audit } = exampleIds;

/**
 * The members that contain an id from `exampleIds`, and which one. All other ids are
 * `exampleIds.other`.
 */
export const idsOfMembers: Readonly<Record<string, string | null>> = {
  'org.id': org,
  'GetOrgReply.id': org,
  org_id: org,
  user_id: user,
  owner_id: user,
  created_by: user,
  resolver_id: user,
  parent_id: user,
  'user.id': user,
  'placement.id': user,
  'grantors.id': user,
  'GetProfileReply.id': user,
  agent_id: agent,
  identity_id: agent,
  'agent.id': agent,
  'Identity.id': agent,
  'Me.id': agent,
  'ShownIdentity.id': agent,
  'IdentityReference.id': agent,
  'ConnectedService.id': service,
  'ServiceDetail.id': service,
  'ApprovalResponse.id': approval,
  approval_id: approval,
  'Rule.service_id': null,
  'Rule.credential_id': null,
  'CreateRuleReply.service_id': null,
  'CreateRuleReply.credential_id': null,
  'CreateRuleReply.approval_id': null,
  'Rule.approval_id': null,
  'Template.owner_id': null,
  'TemplateDetail.owner_id': null,
  audit_id: audit,
  'AuditRecord.id': audit,
};
