import { onCleanup, onMount } from 'solid-js';

import { ButtonLink } from '../../ui/button.tsx';
import { Logo } from '../../ui/icon.tsx';

/**
 * Covers a page whose session has ended. The page stays in place with what was typed on it. It must
 * not show through, because the person in front of it is not signed in.
 */
export function SessionEnded(props: { onReturn: () => void }) {
  const checkSession = () => {
    if (document.visibilityState === 'visible') props.onReturn();
  };
  onMount(() => {
    document.addEventListener('visibilitychange', checkSession);
    addEventListener('focus', checkSession);
  });
  onCleanup(() => {
    document.removeEventListener('visibilitychange', checkSession);
    removeEventListener('focus', checkSession);
  });

  return (
    <main class="fixed inset-0 z-50 grid place-content-center justify-items-center gap-4 overflow-auto bg-canvas p-6 text-center">
      <Logo />
      <h1 class="text-xl font-semibold" role="alert">
        You are signed out
      </h1>
      <p class="max-w-md text-ink-soft">
        What you typed is kept here. Sign in in a new tab, then come back to this one.
      </p>
      <ButtonLink look="primary" href="/sign-in" target="_blank">
        Sign in in a new tab
      </ButtonLink>
    </main>
  );
}
