import type { Tool } from './tool.ts';
import { serviceApprove, serviceApproveSelf } from './service-approve.ts';
import { serviceAuth } from './service-auth.ts';
import { serviceCall, serviceRead } from './service-call.ts';
import { serviceSearch } from './service-search.ts';

/** All tools, in the order in which agents usually need them. */
export const tools: readonly Tool[] = [
  serviceSearch,
  serviceRead,
  serviceCall,
  serviceAuth,
  serviceApprove,
  serviceApproveSelf,
];
