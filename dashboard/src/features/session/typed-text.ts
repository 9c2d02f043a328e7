import { onCleanup, onMount } from 'solid-js';

/**
 * Whether a field of the page holds what the person has typed or chosen there and not sent. A form
 * that was sent or closed has left the page.
 */
export function useTypedText(): () => boolean {
  const edited = new Set<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>();
  const forgetGone = () => {
    for (const field of edited) if (!field.isConnected) edited.delete(field);
  };
  const noteEdit = ({ target }: Event) => {
    forgetGone();
    const isField =
      target instanceof HTMLInputElement ||
      target instanceof HTMLTextAreaElement ||
      target instanceof HTMLSelectElement;
    if (isField && target.type !== 'search') edited.add(target);
  };
  onMount(() => document.addEventListener('input', noteEdit));
  onCleanup(() => document.removeEventListener('input', noteEdit));
  return () => {
    forgetGone();
    return [...edited].some(({ value }) => value !== '');
  };
}
