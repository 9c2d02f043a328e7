import { searchLimits } from '#contracts/http/search';
import type { searchRoutes } from '#contracts/http/search';
import type { Deps } from '../deps.ts';
import { answer } from '../http/route-handler.ts';
import type { HandlersOf } from '../http/route-handler.ts';
import { namedAction } from '../calls/domain/named-action.ts';
import { nextAfterEmptySearch } from '../next/domain/next-step.ts';

export function searchHandlers({ registry }: Deps): HandlersOf<typeof searchRoutes> {
  return {
    search: ({
      caller: { principal },
      query: { q = '', limit, catalog, service, action },
      deadline,
    }) => {
      const searchResult = registry.search(
        {
          principal,
          query: q,
          limit: limit ?? searchLimits.default,
          catalog: catalog === 'true',
          ...namedAction({ service, action }),
        },
        deadline,
      );
      const isFinal = catalog === 'true';
      return answer(
        200,
        searchResult.then(({ items }) =>
          items.length > 0 || isFinal
            ? { items }
            : { items, next: nextAfterEmptySearch(q).request },
        ),
      );
    },
  };
}
