import type { Tool } from '../tool.ts';
import { serviceApprove, serviceApproveSelf } from './approvals.ts';
import { serviceAuth } from './auth.ts';
import { serviceCall, serviceRead } from './calls.ts';
import { serviceSearch } from './search.ts';

/** Every tool, in the order in which an agent meets them. */
export const tools: readonly Tool[] = [
  serviceSearch,
  serviceRead,
  serviceCall,
  serviceAuth,
  serviceApprove,
  serviceApproveSelf,
];
