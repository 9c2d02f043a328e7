import { createSignal } from 'solid-js';

import { announce } from './announcer.tsx';
import { Button } from './button.tsx';

/** Shows a text that a person needs elsewhere, such as a key, with a button that copies it. */
export function CopyText(props: { label: string; text: string }) {
  const [isCopied, setCopied] = createSignal(false);
  let shownElement: HTMLElement | undefined;

  const copy = async () => {
    try {
      await navigator.clipboard.writeText(props.text);
      setCopied(true);
      announce(`${props.label} copied`);
    } catch {
      // Without permission to write to the clipboard, the text is selected, so that the person can
      // copy it.
      if (shownElement !== undefined) getSelection()?.selectAllChildren(shownElement);
    }
  };

  return (
    <div>
      <p class="text-sm text-ink-soft">{props.label}</p>
      {/* On a phone the button is below the text, so that long texts do not break into many lines.
       */}
      <div class="mt-1 grid gap-2 sm:flex sm:items-start">
        <code
          ref={(element) => (shownElement = element)}
          class="min-w-0 grow rounded-lg border border-line bg-surface px-3 py-2.5 font-mono text-sm break-all whitespace-pre-wrap"
        >
          {props.text}
        </code>
        <Button aria-label={`Copy: ${props.label}`} onClick={() => void copy()}>
          {isCopied() ? 'Copied' : 'Copy'}
        </Button>
      </div>
    </div>
  );
}
