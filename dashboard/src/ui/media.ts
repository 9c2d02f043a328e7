import { createSignal, onCleanup } from 'solid-js';

/**
 * Whether a list and a card fit side by side: the window is at least as wide as Tailwind's `lg`.
 */
export function useIsWide(): () => boolean {
  return useMediaQuery('(min-width: 64rem)');
}

/** Whether the window is as narrow as on a phone: narrower than Tailwind's `sm`. */
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
