import { Button } from '../../ui/button.tsx';
import { Logo, Spinner } from '../../ui/icon.tsx';
import { useTitle } from '../../ui/title.ts';

/** What somebody without a session sees at every address; after signing in, the same address shows the page. */
export function SignedOut(props: { isChecking: boolean; onCheck: () => void }) {
  useTitle(() => 'Sign in');

  return (
    <main class="grid min-h-dvh place-items-center px-4 py-10">
      <div class="w-full max-w-md">
        <div class="mb-6 flex items-center gap-3">
          <Logo />
          <span class="text-lg font-semibold">Agent Action Gateway</span>
        </div>
        <div class="rounded-2xl border border-line bg-surface p-6 shadow-sm sm:p-8">
          <h1 class="text-2xl leading-tight font-semibold">Sign in with your link</h1>
          <p class="mt-3 text-ink-soft">
            The gateway printed a one-time sign-in link in the terminal where it was started. Open
            it in this browser:
          </p>
          <p
            class="mt-4 overflow-x-auto rounded-lg bg-sunken px-4 py-3 font-mono text-sm"
            tabindex="0"
          >
            <span class="text-ink-soft">Sign in: </span>
            {location.origin}/sign-in?token=…
          </p>
          <p class="mt-4 text-sm text-ink-soft">
            The link works once. While nobody has signed in yet, restarting the gateway prints a new
            one.
          </p>
          <Button
            look="primary"
            class="mt-6 w-full"
            disabled={props.isChecking}
            onClick={() => props.onCheck()}
          >
            {props.isChecking ? (
              <>
                <Spinner /> Checking…
              </>
            ) : (
              'I have opened it, continue'
            )}
          </Button>
        </div>
      </div>
    </main>
  );
}
