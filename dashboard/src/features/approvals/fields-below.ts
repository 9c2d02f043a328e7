import { createSignal, onCleanup, onMount } from 'solid-js';

/** The number of disclosed fields that the decision bar covers, wholly or partly. */
export function useFieldsBelow(bar: () => HTMLElement | undefined): () => number {
  const [below, setBelow] = createSignal(0);
  let animationFrame = 0;
  const countFieldsBelow = () => {
    const element = bar();
    const barTop = element?.getBoundingClientRect().top;
    const fields = element?.closest('article')?.querySelectorAll('[data-disclosed]');
    if (barTop === undefined || fields === undefined) return;
    setBelow(
      [...fields].filter((field) => field.getBoundingClientRect().bottom > barTop + 1).length,
    );
  };
  const scheduleCount = () => {
    cancelAnimationFrame(animationFrame);
    animationFrame = requestAnimationFrame(countFieldsBelow);
  };

  onMount(() => {
    const element = bar();
    const sizeObserver = new ResizeObserver(scheduleCount);
    if (element !== undefined) sizeObserver.observe(element);
    const card = element?.closest('article');
    if (card) sizeObserver.observe(card);
    addEventListener('scroll', scheduleCount, { passive: true });
    addEventListener('resize', scheduleCount);
    onCleanup(() => {
      cancelAnimationFrame(animationFrame);
      sizeObserver.disconnect();
      removeEventListener('scroll', scheduleCount);
      removeEventListener('resize', scheduleCount);
    });
  });
  return below;
}
