import type { Catalog } from '../catalog.ts';
import type { Tool } from '../tool.ts';
import { serviceApprove, serviceApproveSelf } from './approvals.ts';
import { serviceAuth } from './auth.ts';
import { serviceCall, serviceRead } from './calls.ts';
import { createServiceSearch } from './search.ts';

/** Every tool, in the order in which an agent meets them. */
export function createTools(catalog: Catalog): readonly Tool[] {
  return [
    createServiceSearch(catalog),
    serviceRead,
    serviceCall,
    serviceAuth,
    serviceApprove,
    serviceApproveSelf,
  ];
}
