import { createSignal, onCleanup } from 'solid-js';

/** Whether there is room for a list and a card beside one another; the same width as Tailwind's `lg`. */
export function useIsWide(): () => boolean {
  const query = matchMedia('(min-width: 64rem)');
  const [isWide, setWide] = createSignal(query.matches);
  const follow = () => setWide(query.matches);
  query.addEventListener('change', follow);
  onCleanup(() => query.removeEventListener('change', follow));
  return isWide;
}
