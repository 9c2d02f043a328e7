import { Dialog } from '@kobalte/core/dialog';
import { For, createSignal } from 'solid-js';

import { choices } from '../features/approvals/choices.tsx';
import { Icon } from '../ui/icon.tsx';
import { useKeys } from '../ui/keys.ts';

const keyDescriptions = [
  ['j', 'Next approval'],
  ['k', 'Previous approval'],
  ...choices.flatMap(({ key }) =>
    key === undefined ? [] : [[key.name, key.description] as const],
  ),
  ['y', 'Yes, when it is asked for again'],
  ['Esc', 'Go back to the choice'],
  ['?', 'This list'],
] as const;

/** The dialog with the keyboard shortcuts. Its button or the key `?` opens it. */
export function HelpDialog() {
  const [isOpen, setOpen] = createSignal(false);
  useKeys(() => ({ '?': () => setOpen(true) }));

  return (
    <Dialog open={isOpen()} onOpenChange={setOpen}>
      <Dialog.Trigger
        class="keyboard-only grid size-11 place-items-center rounded-lg text-ink-soft hover:bg-sunken hover:text-ink max-sm:hidden"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts (?)"
      >
        <Icon name="keyboard" />
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Overlay class="fixed inset-0 z-40 bg-shade" />
        <div class="fixed inset-0 z-50 grid place-items-center p-4">
          <Dialog.Content class="w-full max-w-md rounded-2xl border border-line bg-surface p-6 shadow-xl">
            <div class="mb-4 flex items-center justify-between">
              <Dialog.Title class="text-lg font-semibold">Keyboard shortcuts</Dialog.Title>
              <Dialog.CloseButton
                class="grid size-11 place-items-center rounded-lg text-ink-soft hover:bg-sunken hover:text-ink"
                aria-label="Close"
              >
                <Icon name="cross" />
              </Dialog.CloseButton>
            </div>
            <dl class="grid grid-cols-[auto_1fr] items-center gap-x-4 gap-y-3">
              <For each={keyDescriptions}>
                {([key, does]) => (
                  <>
                    <dt>
                      <kbd class="key">{key}</kbd>
                    </dt>
                    <dd>{does}</dd>
                  </>
                )}
              </For>
            </dl>
          </Dialog.Content>
        </div>
      </Dialog.Portal>
    </Dialog>
  );
}
