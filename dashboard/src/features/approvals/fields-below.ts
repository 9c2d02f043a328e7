import { createSignal, onCleanup, onMount } from 'solid-js';

/** How many disclosed fields of the card its reader has not seen whole: they reach below the top of the bar. */
export function useFieldsBelow(bar: () => HTMLElement | undefined): () => number {
  const [below, setBelow] = createSignal(0);
  let frame = 0;
  const count = () => {
    const element = bar();
    const edge = element?.getBoundingClientRect().top;
    const fields = element?.closest('article')?.querySelectorAll('[data-disclosed]');
    if (edge === undefined || fields === undefined) return;
    setBelow([...fields].filter((field) => field.getBoundingClientRect().bottom > edge + 1).length);
  };
  const schedule = () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(count);
  };

  onMount(() => {
    const element = bar();
    const sizes = new ResizeObserver(schedule);
    if (element !== undefined) sizes.observe(element);
    const card = element?.closest('article');
    if (card) sizes.observe(card);
    addEventListener('scroll', schedule, { passive: true });
    addEventListener('resize', schedule);
    onCleanup(() => {
      cancelAnimationFrame(frame);
      sizes.disconnect();
      removeEventListener('scroll', schedule);
      removeEventListener('resize', schedule);
    });
  });
  return below;
}
