import { useLocation } from '@solidjs/router';
import { Match, Switch, createSignal, onMount } from 'solid-js';
import type { Component, JSX } from 'solid-js';
import { Dynamic } from 'solid-js/web';

import { Button } from '../ui/button.tsx';
import { AfterFirstAnswers } from '../ui/first-answers.tsx';
import { Spinner } from '../ui/icon.tsx';

/**
 * Returns a page whose code is loaded when the page is first opened, or when `preload` is called.
 * The router calls `preload` when the pointer is on a link to the page. Solid's own `lazy` would
 * need a `Suspense` around it, which also hides the whole page while one of its queries loads.
 */
export function lazyPage(load: () => Promise<Component>): Component & { preload: () => void } {
  const [page, setPage] = createSignal<Component>();
  let loading: Promise<unknown> | undefined;
  const begin = () => {
    loading ??= load().then(
      (loadedPage) => setPage(() => loadedPage),
      (error: unknown) => {
        loading = undefined;
        throw error;
      },
    );
    return loading;
  };
  const LazyPage = () => {
    const location = useLocation();
    const [hasFailed, setFailed] = createSignal(false);
    onMount(() => {
      begin().catch(() => setFailed(true));
    });
    return (
      <Switch fallback={<Loading />}>
        <Match when={page()}>
          {(loadedPage) => (
            <AfterFirstAnswers address={location.pathname}>
              <Dynamic component={loadedPage()} />
            </AfterFirstAnswers>
          )}
        </Match>
        <Match when={hasFailed()}>
          <NotLoaded />
        </Match>
      </Switch>
    );
  };
  // A failed preload is ignored here. The person sees the failure on opening the page.
  return Object.assign(LazyPage, { preload: () => void begin().catch(() => {}) });
}

function Loading(): JSX.Element {
  return (
    <main id="content" class="p-6">
      <p class="flex items-center gap-3 text-ink-soft" role="status">
        <Spinner /> Loading…
      </p>
    </main>
  );
}

/**
 * Shown, for example, after an update of the gateway, when the files of the earlier release are
 * gone.
 */
function NotLoaded(): JSX.Element {
  return (
    <main id="content" class="mx-auto max-w-lg p-6 pt-[10vh]">
      <h1 class="text-xl font-semibold">This page cannot be loaded</h1>
      <p class="mt-2 text-ink-soft">
        The gateway may have been updated, or cannot be reached. Load the page again.
      </p>
      <Button class="mt-4" onClick={() => location.reload()}>
        Load again
      </Button>
    </main>
  );
}
