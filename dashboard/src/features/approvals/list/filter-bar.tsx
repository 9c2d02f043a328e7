import {
  For,
  createEffect,
  createMemo,
  createSignal,
  createUniqueId,
  onCleanup,
  untrack,
} from 'solid-js';
import type { JSX } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { fieldLook } from '../../../ui/field.tsx';
import { toVisibleText } from '../../../ui/visible-characters.ts';
import { serviceOf } from '../approval-view.ts';
import { isFiltered } from './list-filter.ts';
import type { ListFilter } from './list-filter.ts';

/** How long to wait for the next letter before searching. */
const typingMs = 300;

/** Search, filters and order of the list. */
export function FilterBar(props: {
  filter: ListFilter;
  known: readonly ApprovalResponse[];
  onChange: (filter: ListFilter) => void;
  /** What else can be done with the list, beside the filters. */
  act: JSX.Element;
}) {
  const searchId = createUniqueId();
  const [text, setText] = createSignal(untrack(() => props.filter.q));
  // Open at first if something is filtered; afterwards as the person leaves it.
  const isOpenAtFirst = untrack(() => isFiltered({ ...props.filter, q: '' }));
  let timer: ReturnType<typeof setTimeout> | undefined;
  // The address changes also when the person goes back, or leaves all filters out.
  createEffect(() => setText(props.filter.q));
  onCleanup(() => clearTimeout(timer));
  const search = (q: string) => {
    setText(q);
    clearTimeout(timer);
    timer = setTimeout(() => props.onChange({ ...props.filter, q }), typingMs);
  };
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
      <label for={searchId} class="sr-only">
        Search approvals
      </label>
      <input
        id={searchId}
        type="search"
        class={fieldLook}
        placeholder="Search"
        maxLength={200}
        autocomplete="off"
        spellcheck={false}
        value={text()}
        onInput={(event) => search(event.currentTarget.value)}
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

/** What an address filters by can be chosen even where nothing loaded has it. */
function withChosen(names: Map<string, string>, chosen: string, name: string): [string, string][] {
  if (chosen !== '' && !names.has(chosen)) names.set(chosen, name);
  return [...names].toSorted(([, one], [, other]) => one.localeCompare(other)).slice(0, 200);
}

function Select(props: {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onChange: (value: string) => void;
}) {
  return (
    <select
      class="min-h-11 w-full min-w-0 rounded-lg border border-line-strong bg-surface px-2 text-sm"
      aria-label={props.label}
      onChange={(event) => props.onChange(event.currentTarget.value)}
    >
      <For each={props.options}>
        {([value, text]) => (
          <option value={value} selected={value === props.value}>
            {toVisibleText(text)}
          </option>
        )}
      </For>
    </select>
  );
}
