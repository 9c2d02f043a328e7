import { z } from 'zod';

import { deadlineIn } from '#bus';
import { searchLimits, searchQuery, searchRow } from '#contracts/http/search';
import { defineTool, result } from '../tool.ts';

const requestMsMax = 3_000;

const row = z.looseObject({
  ...searchRow.shape,
  service: searchRow.shape.service.describe('What to pass as service; null: not connected yet.'),
  action: searchRow.shape.action.describe('What to pass as action; null: the service itself.'),
  risk: searchRow.shape.risk.describe('read: service_read is enough. Others may need approval.'),
  auth: z
    .looseObject(searchRow.shape.auth.shape)
    .describe('connected false: it is not connected, or its credentials are missing.'),
});

export const serviceSearch = defineTool('service_search', {
  title: 'Find services and actions',
  description:
    'Finds actions of the connected services by what they do, such as "create issue". Start here: the rows carry service, action and risk as service_read and service_call take them, and the first five the schema of their params. Without query it lists the connected services. With catalog it also names services that could be connected.',
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: z.strictObject({
    query: searchQuery.shape.q.describe('A few words; all services without it.'),
    catalog: z.boolean().describe('Also what is not connected. Default false.').optional(),
    limit: z
      .int()
      .min(1)
      .max(searchLimits.max)
      .describe(`Default ${searchLimits.default}.`)
      .optional(),
  }),
  output: { results: z.array(row) },
  tag: 'results',
  refusedAs: null,
  scope: 'actions:read',
  run: async (
    { query = '', catalog = false, limit = searchLimits.default },
    { deps, caller: { principal } },
  ) => {
    const { items } = await deps.registry.search(
      { principal, query, limit, catalog },
      deadlineIn(requestMsMax),
    );
    return result({ results: items });
  },
});
