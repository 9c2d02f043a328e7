import { Button, ButtonLink } from '../../ui/button.tsx';
import { Logo, Spinner } from '../../ui/icon.tsx';
import { useTitle } from '../../ui/title.ts';

/** What somebody without a session sees at every address; after signing in, the same address shows the page. */
export function SignedOut(props: { isChecking: boolean; onCheck: () => void }) {
  useTitle(() => 'Sign in');
  const signIn = () => {
    const { pathname, search, hash } = location;
    return `/sign-in?${new URLSearchParams({ return_to: pathname + search + hash }).toString()}`;
  };

  return (
    <main class="grid min-h-dvh place-items-center px-4 py-10">
      <div class="w-full max-w-md">
        <div class="mb-6 flex items-center gap-3">
          <Logo />
          <span class="text-lg font-semibold">Agent Action Gateway</span>
        </div>
        <div class="rounded-2xl border border-line bg-surface p-6 shadow-sm sm:p-8">
          <h1 class="text-2xl leading-tight font-semibold">You are signed out</h1>
          <p class="mt-3 text-ink-soft">Sign in, and you come back to this page.</p>
          <ButtonLink look="primary" class="mt-6 w-full" href={signIn()}>
            Sign in
          </ButtonLink>
          <Button
            look="quiet"
            class="mt-2 w-full"
            disabled={props.isChecking}
            onClick={() => props.onCheck()}
          >
            {props.isChecking ? (
              <>
                <Spinner /> Checking…
              </>
            ) : (
              'I have signed in, continue'
            )}
          </Button>
        </div>
      </div>
    </main>
  );
}
