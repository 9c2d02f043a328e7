import { Show, onMount } from 'solid-js';
import type { JSX } from 'solid-js';

import { Button } from './button.tsx';
import { CopyText } from './copy-text.tsx';
import { Notice } from './notice.tsx';

/**
 * Shows a credential that the gateway will never show again, until the person says that they have
 * copied it.
 */
export function ShownOnce(props: {
  title: JSX.Element;
  label: string;
  text: string;
  /** A sentence about where the person should copy it to. */
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
