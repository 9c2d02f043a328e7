import { createSignal, onCleanup } from 'solid-js';

/**
 * Whether a list and a card fit side by side: the window is as wide as Tailwind's `lg` or wider.
 */
export function useIsWide(): () => boolean {
  return useMediaQuery('(min-width: 64rem)');
}

/** Whether the window is as narrow as that of a phone: below Tailwind's `sm`. */
export function useIsPhone(): () => boolean {
  return useMediaQuery('(width < 40rem)');
}

function useMediaQuery(condition: string): () => boolean {
  const query = matchMedia(condition);
  const [isMatching, setMatching] = createSignal(query.matches);
  const update = () => setMatching(query.matches);
  query.addEventListener('change', update);
  onCleanup(() => query.removeEventListener('change', update));
  return isMatching;
}
