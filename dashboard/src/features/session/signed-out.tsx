import { onMount } from 'solid-js';

import { ButtonLink } from '../../ui/button.tsx';
import { Logo } from '../../ui/icon.tsx';
import { useTitle } from '../../ui/title.ts';

/**
 * Sends the browser to the sign-in page, which leads back to the current address. It replaces this
 * page in the history, so that the back button does not come here.
 */
export function SignedOut() {
  useTitle(() => 'Sign in');
  const { pathname, search, hash } = location;
  const signIn = `/sign-in?${new URLSearchParams({ return_to: pathname + search + hash }).toString()}`;
  onMount(() => location.replace(signIn));

  return (
    <main class="grid min-h-dvh place-content-center justify-items-center gap-4 p-6 text-center">
      <Logo />
      <h1 class="text-xl font-semibold">Going to the sign-in page</h1>
      <ButtonLink look="quiet" href={signIn}>
        Go there now
      </ButtonLink>
    </main>
  );
}
