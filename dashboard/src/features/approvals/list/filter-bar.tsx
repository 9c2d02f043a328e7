import { createMemo, untrack } from 'solid-js';
import type { JSX } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { SearchField, Select, withChosen } from '../../../ui/filter-fields.tsx';
import { serviceOf } from '../approval-view.ts';
import { isFiltered } from './list-filter.ts';
import type { ListFilter } from './list-filter.ts';

/** The search field, the filters and the sort order of the list. */
export function FilterBar(props: {
  filter: ListFilter;
  known: readonly ApprovalResponse[];
  onChange: (filter: ListFilter) => void;
  /** Further buttons for the list, shown beside the filters. */
  act: JSX.Element;
}) {
  // Open at first if a filter is set. Later changes of the filter neither open nor close it.
  const isOpenAtFirst = untrack(() => isFiltered({ ...props.filter, q: '' }));
  const agents = createMemo(() =>
    withChosen(
      new Map(props.known.map(({ requester: { id, path } }) => [id, path.slice(-2).join(' › ')])),
      props.filter.requester,
      'this agent',
    ),
  );
  const services = createMemo(() =>
    withChosen(
      new Map(
        props.known.map((each) => [
          each.service,
          each.service === 'http' ? 'direct HTTP' : serviceOf(each),
        ]),
      ),
      props.filter.service,
      props.filter.service,
    ),
  );
  return (
    <search class="mb-1 block">
      <SearchField
        label="Search approvals"
        text={props.filter.q}
        onSearch={(q) => props.onChange({ ...props.filter, q })}
      />
      <div class="mt-1 flex flex-wrap items-start justify-between gap-x-3">
        <details class="open:basis-full" open={isOpenAtFirst}>
          <summary class="min-h-11 content-center rounded px-1 text-sm font-medium text-ink-soft hover:text-ink">
            Filter and sort
          </summary>
          <div class="mt-1 grid grid-cols-2 gap-2">
            <Select
              label="Agent"
              value={props.filter.requester}
              options={[['', 'All agents'], ...agents()]}
              onChange={(requester) => props.onChange({ ...props.filter, requester })}
            />
            <Select
              label="Service"
              value={props.filter.service}
              options={[['', 'All services'], ...services()]}
              onChange={(service) => props.onChange({ ...props.filter, service })}
            />
            <Select
              label="Risk"
              value={props.filter.risk}
              options={[
                ['', 'Any risk'],
                ['high', 'High risk'],
                ['med', 'Medium risk'],
                ['low', 'Low risk'],
              ]}
              onChange={(risk) =>
                props.onChange({ ...props.filter, risk: risk as ListFilter['risk'] })
              }
            />
            <Select
              label="Order"
              value={props.filter.sort}
              options={[
                ['oldest', 'Oldest first'],
                ['newest', 'Newest first'],
              ]}
              onChange={(sort) =>
                props.onChange({ ...props.filter, sort: sort as ListFilter['sort'] })
              }
            />
          </div>
        </details>
        {props.act}
      </div>
    </search>
  );
}
