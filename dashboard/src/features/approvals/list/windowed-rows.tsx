import {
  For,
  Show,
  createEffect,
  createMemo,
  createSignal,
  on,
  onCleanup,
  onMount,
} from 'solid-js';
import type { JSX } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';

/**
 * How many rows are kept above and below the visible ones, so that scrolling and the tab key find
 * rows there.
 */
const spareRows = 6;
/** The most rows that are in the page, however tall the window is. */
const rowsMax = 56;
/** The assumed height of a row in pixels, until one has been measured. */
const firstRowHeight = 132;
/** The next page is loaded when fewer rows than this are left below. */
const loadWhenLeft = 20;

/**
 * Shows only those rows of a long list that are near the visible part. All rows have the same
 * height, so empty space above and below replaces the rows that are left out.
 */
export function WindowedRows(props: {
  items: readonly ApprovalResponse[];
  chosenId: string | undefined;
  labelId?: string | undefined;
  onNearEnd: () => void;
  children: (approval: () => ApprovalResponse) => JSX.Element;
}) {
  let list: HTMLUListElement | undefined;
  const [rowHeight, setRowHeight] = createSignal(firstRowHeight);
  const [range, setRange] = createSignal({ start: 0, end: spareRows * 3 }, { equals: isSameRange });
  const itemsById = createMemo(() => new Map(props.items.map((item) => [item.id, item])));
  const ids = createMemo(() => props.items.map(({ id }) => id));
  const shownIds = createMemo(() => ids().slice(range().start, range().end));

  const update = () => {
    if (list === undefined) return;
    const height = list.querySelector('li')?.offsetHeight ?? 0;
    // The height is 0 while the list is hidden.
    if (height > 0) setRowHeight(height);
    const above = -list.getBoundingClientRect().top / rowHeight();
    const start = Math.max(0, Math.floor(above) - spareRows);
    const visibleCount = Math.ceil(innerHeight / rowHeight());
    const end = Math.min(start + rowsMax, Math.floor(above) + visibleCount + spareRows);
    setRange({ start: Math.min(start, ids().length), end: Math.max(end, start) });
    if (ids().length - end < loadWhenLeft) props.onNearEnd();
  };
  let animationFrame = 0;
  const scheduleUpdate = () => {
    cancelAnimationFrame(animationFrame);
    animationFrame = requestAnimationFrame(update);
  };
  onMount(() => {
    // On a wide window the list scrolls inside its own element. Scroll events do not bubble, so
    // they are captured.
    document.addEventListener('scroll', scheduleUpdate, { capture: true, passive: true });
    addEventListener('resize', scheduleUpdate);
    onCleanup(() => {
      cancelAnimationFrame(animationFrame);
      document.removeEventListener('scroll', scheduleUpdate, { capture: true });
      removeEventListener('resize', scheduleUpdate);
    });
  });
  createEffect(on(ids, scheduleUpdate));
  // Sets properties, because the content security policy refuses `style` attributes.
  createEffect(() => {
    if (list === undefined) return;
    const { start } = range();
    const rowsBelow = Math.max(0, ids().length - start - shownIds().length);
    list.style.paddingTop = `${start * rowHeight()}px`;
    list.style.paddingBottom = `${rowsBelow * rowHeight()}px`;
  });
  // The keys j and k may choose a row that is not visible, so the list scrolls to it.
  createEffect(
    on(
      () => props.chosenId,
      (id) => {
        const at = id === undefined ? -1 : ids().indexOf(id);
        if (at !== -1) requestAnimationFrame(() => scrollToRow(at));
      },
      { defer: true },
    ),
  );
  const scrollToRow = (at: number) => {
    const scroller = list?.closest<HTMLElement>('[data-scroller]');
    // Nothing to scroll on a phone, where the card covers the list.
    if (
      list === undefined ||
      scroller === null ||
      scroller === undefined ||
      scroller.scrollHeight <= scroller.clientHeight
    ) {
      return;
    }
    const box = scroller.getBoundingClientRect();
    const top = list.getBoundingClientRect().top + at * rowHeight();
    const bottom = top + rowHeight();
    if (top < box.top) scroller.scrollTop -= box.top - top + rowHeight();
    else if (bottom > box.bottom) scroller.scrollTop += bottom - box.bottom + rowHeight();
  };

  return (
    <ul ref={(element) => (list = element)} aria-labelledby={props.labelId}>
      <For each={shownIds()}>
        {(id) => (
          <Show when={itemsById().get(id)}>
            {(item) => (
              <li class="pb-2" aria-setsize={ids().length} aria-posinset={ids().indexOf(id) + 1}>
                {props.children(item)}
              </li>
            )}
          </Show>
        )}
      </For>
    </ul>
  );
}

interface Range {
  readonly start: number;
  readonly end: number;
}

const isSameRange = (one: Range, other: Range) =>
  one.start === other.start && one.end === other.end;
