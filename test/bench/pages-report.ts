import type { NamedPageLoad } from '../browser/page-loads.ts';

interface Times {
  readonly leastMs: number;
  readonly medianMs: number;
}

export interface PageFigures {
  readonly name: string;
  readonly phone: Times;
  readonly desktop: Times;
  /** The largest layout shift of all loads of the page. */
  readonly shift: number;
}

const interactiveMsMax = 1_000;

/**
 * Returns the figures of each page over all rounds. The pages are in the order in which they were
 * first opened.
 */
export function summarisePages(loads: readonly NamedPageLoad[]): PageFigures[] {
  return [...new Set(loads.map(({ name }) => name))].map((name) => {
    const loadsOfPage = loads.filter((load) => load.name === name);
    return {
      name,
      phone: timesOf(loadsOfPage.filter(({ size }) => size === 'phone')),
      desktop: timesOf(loadsOfPage.filter(({ size }) => size === 'desktop')),
      shift: Math.max(...loadsOfPage.map(({ shift }) => shift)),
    };
  });
}

function timesOf(loads: readonly NamedPageLoad[]): Times {
  const sorted = loads
    .map(({ interactiveMs }) => interactiveMs)
    .toSorted((left, right) => left - right);
  return {
    leastMs: sorted[0] ?? Number.NaN,
    medianMs: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN,
  };
}

/** The promises about the dashboard's pages that the figures break. */
export function listBrokenPagePromises(pages: readonly PageFigures[]): string[] {
  return pages.flatMap(({ name, phone, desktop, shift }) => [
    ...[phone, desktop]
      .filter(({ leastMs }) => leastMs > interactiveMsMax)
      .map(({ leastMs }) => `${name} could be used only after ${leastMs.toFixed(0)} ms`),
    ...(shift > 0 ? [`${name} moved what it had shown, by ${shift.toFixed(3)}`] : []),
  ]);
}

export function renderPages(pages: readonly PageFigures[], rounds: number): string {
  const rows = pages.map(({ name, phone, desktop, shift }) => [
    name,
    ...[phone, desktop].flatMap(({ leastMs, medianMs }) => [leastMs, medianMs].map(toText)),
    shift === 0 ? '0' : shift.toFixed(3),
  ]);
  const isFast = pages.every(({ phone, desktop }) =>
    [phone, desktop].every(({ leastMs }) => leastMs <= interactiveMsMax),
  );
  const isStill = pages.every(({ shift }) => shift === 0);
  return `
Written by \`npm run bench:pages\`, on the same kind of machine: gateway, Postgres, NATS and Chromium
share its two cores, and other work that it has slows all of them. Each page is opened ${rounds} times over
loopback in a new browser context, whose cache is empty, on a phone (360 × 640) and a desktop
(1280 × 800). *ms*: from the start of the navigation until the button, link or title for which a
person comes can be used, nothing on the page loads any more, and no task over 50 ms follows. *Shift*: the
largest sum of layout shifts without input.

| Goal | |
|---|---|
| every page can be used within 1 s, in its best load | ${isFast ? 'holds' : '**missed**'} |
| no page moves what it has shown | ${isStill ? 'holds' : '**missed**'} |

| Page | Phone, best ms | median | Desktop, best ms | median | Shift |
|---|---|---|---|---|---|
${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}
`;
}

const toText = (ms: number) => ms.toFixed(0);
