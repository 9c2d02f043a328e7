import { Show, onMount } from 'solid-js';
import type { JSX } from 'solid-js';

import { Button } from './button.tsx';
import { CopyText } from './copy-text.tsx';
import { Notice } from './notice.tsx';

/** A credential that no later answer shows again, until the person says that it is kept. */
export function ShownOnce(props: {
  title: JSX.Element;
  label: string;
  text: string;
  /** Where to copy it to, as a sentence. */
  destination?: string;
  onDone?: () => void;
}) {
  let title: HTMLParagraphElement | undefined;
  onMount(() => title?.focus());
  return (
    <Notice tone="warning">
      <p ref={(element) => (title = element)} class="font-semibold" tabindex="-1">
        {props.title}
      </p>
      <p class="mt-1 text-sm">
        This is the only time that it is shown.{' '}
        {props.destination ?? 'Copy it now to where the agent finds it.'}
      </p>
      <div class="mt-3">
        <CopyText label={props.label} text={props.text} />
      </div>
      <Show when={props.onDone}>
        {(onDone) => (
          <Button class="mt-3" onClick={() => onDone()()}>
            I have copied it
          </Button>
        )}
      </Show>
    </Notice>
  );
}
