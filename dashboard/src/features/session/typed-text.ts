import { onCleanup, onMount } from 'solid-js';

/**
 * Whether a field of the page has a value that the person has typed or chosen but not sent. The
 * fields of a form that was sent or closed do not count, because they are no longer on the page.
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
