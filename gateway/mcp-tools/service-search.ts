import { z } from 'zod';

import { deadlineIn } from '#bus';
import { searchLimits, searchQuery } from '#contracts/http/search';
import { nameReference } from '#contracts/vocabulary';
import { namedAction } from '../calls/domain/named-action.ts';
import { nextAfterEmptySearch } from '../next/domain/next-step.ts';
import { defineTool, result } from './tool.ts';

const requestMsMax = 3_000;

export const serviceSearch = defineTool('service_search', {
  title: 'Find services and actions',
  description:
    'Finds actions of connected services by what they do. Start here: a row has service, action and risk for service_read and service_call, and params_schema while 8 KB last; service and action give one row with it.',
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: z.strictObject({
    query: searchQuery.shape.q.describe('A few words; none: lists services.'),
    service: nameReference.optional(),
    action: z.string().min(1).max(128).optional(),
    catalog: z.boolean().describe('Also unconnected ones.').optional(),
    limit: z
      .int()
      .min(1)
      .max(searchLimits.max)
      .describe(`Default ${searchLimits.default}.`)
      .optional(),
  }),
  refusedAs: null,
  scope: 'actions:read',
  run: async (
    { query = '', catalog = false, limit = searchLimits.default, service, action },
    { deps, caller: { principal } },
  ) => {
    const { items } = await deps.registry.search(
      { principal, query, limit, catalog, ...namedAction({ service, action }) },
      deadlineIn(requestMsMax),
    );
    if (items.length > 0 || catalog) return result({ results: items });
    return result({ results: items, next: nextAfterEmptySearch(query).toolCall });
  },
});
