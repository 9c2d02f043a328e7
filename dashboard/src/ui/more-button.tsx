import { Show } from 'solid-js';

import { Button } from './button.tsx';

/** The button that loads the next page of a list. The last page has none. */
export function MoreButton(props: {
  query: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    fetchNextPage(): Promise<unknown>;
  };
  /** `Show more` by default. */
  label?: string;
  class?: string;
}) {
  return (
    <Show when={props.query.hasNextPage}>
      <Button
        class={props.class}
        disabled={props.query.isFetchingNextPage}
        onClick={() => void props.query.fetchNextPage()}
      >
        {props.query.isFetchingNextPage ? 'Loading…' : (props.label ?? 'Show more')}
      </Button>
    </Show>
  );
}
