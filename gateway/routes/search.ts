import { searchLimits } from '#contracts/http/search';
import type { searchRoutes } from '#contracts/http/search';
import type { Deps } from '../deps.ts';
import { answer } from '../route.ts';
import type { HandlersOf } from '../route.ts';

export function searchHandlers({ registry }: Deps): HandlersOf<typeof searchRoutes> {
  return {
    search: ({ caller: { principal }, query: { q = '', limit, catalog }, deadline }) =>
      answer(
        200,
        registry.search(
          {
            principal,
            query: q,
            limit: limit ?? searchLimits.default,
            catalog: catalog === 'true',
          },
          deadline,
        ),
      ),
  };
}
