import { Match, Show, Switch } from 'solid-js';
import type { JSX } from 'solid-js';

import { Spinner } from './icon.tsx';
import { ErrorNotice } from './notice.tsx';

/** What is read of a query, which may be one whose pages are loaded one after another. */
interface LoadedQuery<Data> {
  readonly data: Data | undefined;
  readonly error: Error | null;
  readonly isPending: boolean;
  refetch(): Promise<unknown>;
}

/**
 * Shows the answer of a query, or its error. If a later request fails, the error is shown above the
 * earlier answer.
 */
export function Loaded<Data>(props: {
  query: LoadedQuery<Data>;
  children: (data: () => NonNullable<Data>) => JSX.Element;
}) {
  const retry = () => void props.query.refetch();
  return (
    <Switch>
      <Match when={props.query.data}>
        {(data) => (
          <>
            <Show when={props.query.error}>
              {(error) => <ErrorNotice error={error()} onRetry={retry} />}
            </Show>
            {props.children(data)}
          </>
        )}
      </Match>
      <Match when={props.query.error}>
        {(error) => <ErrorNotice error={error()} onRetry={retry} />}
      </Match>
      <Match when={props.query.isPending}>
        <p class="flex items-center gap-3 px-1 py-3 text-ink-soft" role="status">
          <Spinner /> Loading…
        </p>
      </Match>
    </Switch>
  );
}
