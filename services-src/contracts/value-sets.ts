/**
 * The values of members that have a fixed set of values, where the command line offers them as
 * choices. This file loads no schema, because that would delay every command.
 */
import { approvalStatuses } from './approval-status.ts';

export const roles = ['admin', 'member', 'auditor'] as const;
export const templateTiers = ['user', 'org', 'global'] as const;
/**
 * `draft`: never published. `published`: can be connected, in the version `published_version`.
 * `disabled`: cannot be found or connected, and services made from it cannot be called.
 */
export const templateStatuses = ['draft', 'published', 'disabled'] as const;
/**
 * Risk of an action. Approvals show it as low, med or high (docs/reference/permissions.md#risk).
 */
export const risks = ['read', 'write', 'delete'] as const;
/** The highest risk that a call may allow; without it, any risk is allowed. */
export const riskLimits = ['read', 'write'] as const;
export const shownRisks = ['low', 'med', 'high'] as const;
export const ruleEffects = ['allow', 'deny'] as const;
export const httpMethods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
/** `open` means pending or bubbled, `decided` everything else. */
export const approvalFilters = ['open', 'decided', ...approvalStatuses] as const;
/**
 * How a call or request ended. `started`: a call is about to leave. `refused`: a request was
 * answered with an error before anything ran. `failed`: a call was made, or tried, and got no
 * answer. `outcome_unknown`: the call may have been made, and the gateway cannot find out.
 */
export const auditOutcomes = [
  'started',
  'called',
  'pending_approval',
  'denied',
  'refused',
  'failed',
  'outcome_unknown',
] as const;
