import { describe, expect, test } from 'vitest';

import type { FeedItem } from '#contracts/events';
import { AppError } from '#errors';
import { createLogger } from '#telemetry';
import { streamEvents } from './event-stream.ts';
import type { Sink, StreamDeps } from './event-stream.ts';
import { agent, feedItemOf } from './principals.testing.ts';

const claims = agent();
const caller = { principal: 'signed', claims };

describe('an event stream', () => {
  test('from now on holds what happens from now on', async () => {
    const stage = start({ stored: items(1, 2, 3) });
    await stage.written('id: 3');

    stage.announce(feedItemOf(claims, 4));
    await stage.written('id: 4');
    await stage.end();

    expect(stage.positions()).toEqual([4]);
  });

  test('from an event on holds everything after it, once, whatever arrives meanwhile', async () => {
    const stored = items(...Array.from({ length: 450 }, (_, index) => index + 1));
    const stage = start({
      stored,
      after: 10,
      onPage(page) {
        // While the second page is read, three more happen; the first of them is in a page as well.
        if (page === 2) {
          stored.push(feedItemOf(claims, 451));
          for (const position of [451, 452, 453]) stage.announce(feedItemOf(claims, position));
        }
      },
    });
    await stage.written('id: 453');
    await stage.end();

    expect(stage.positions()).toEqual(Array.from({ length: 443 }, (_, index) => index + 11));
  });

  test('catches up after the bus lost messages', async () => {
    const stored = items(1);
    const stage = start({ stored, after: 1 });
    await stage.written('retry');
    stage.announce(feedItemOf(claims, 2));
    await stage.written('id: 2');

    stored.push(...items(2, 3, 4));
    stage.announce(null);
    await stage.written('id: 4');
    await stage.end();

    expect(stage.positions()).toEqual([2, 3, 4]);
  });

  test('leaves out what the caller may not see, and types it did not ask for', async () => {
    const stage = start({ types: ['approval.raised'] });
    await stage.written('id: 0');

    stage.announce(feedItemOf(agent(), 1));
    stage.announce(feedItemOf(claims, 2, { type: 'rule.created' }));
    stage.announce(feedItemOf(claims, 3, { type: 'action.denied' }));
    stage.announce(feedItemOf(claims, 4));
    await stage.written('id: 4');
    await stage.end();

    expect(stage.positions()).toEqual([4]);
  });

  test('is dropped when its reader does not read', async () => {
    const stage = start({});
    await stage.written('id: 0');

    stage.sink.writableLength = 1_100_000;
    stage.announce(feedItemOf(claims, 1));
    await stage.ended;

    expect(stage.sink.isDestroyed).toBe(true);
    expect(stage.listeners.size).toBe(0);
  });

  test('ends when the feed cannot be read: the client comes back', async () => {
    const stage = start({
      after: 1,
      onPage() {
        throw new AppError('unavailable', 'x');
      },
    });

    await stage.ended;

    expect(stage.sink.isEnded).toBe(true);
  });

  test('ends with the gateway and with the client', async () => {
    const stopped = start({});
    await stopped.written('id: 0');
    stopped.stopping.abort();
    await stopped.ended;
    expect(stopped.sink.isEnded).toBe(true);

    const gone = start({});
    gone.gone.abort();
    await gone.ended;
    expect(gone.listeners.size).toBe(0);
  });
});

function items(...positions: number[]): FeedItem[] {
  return positions.map((position) => feedItemOf(claims, position));
}

interface Staging {
  readonly stored?: FeedItem[];
  readonly after?: number;
  readonly types?: Parameters<typeof streamEvents>[1]['types'];
  readonly onPage?: (page: number) => void;
}

function start({ stored = [], after, types = null, onPage }: Staging) {
  const listeners = new Set<(item: FeedItem | null) => void>();
  const stopping = new AbortController();
  const gone = new AbortController();
  const last = () => stored.at(-1)?.position ?? 0;
  let pages = 0;
  const deps = {
    feed: {
      subscribe(listener: (item: FeedItem | null) => void) {
        listeners.add(listener);
        return { [Symbol.dispose]: () => void listeners.delete(listener) };
      },
    },
    notifier: {
      feedPosition: async () => ({ position: last() }),
      async listFeed({ after: from, limit }: { after: number; limit: number }) {
        const page = stored.filter(({ position }) => position > from).slice(0, limit);
        pages += 1;
        onPage?.(pages);
        return { items: page, position: page.at(-1)?.position ?? from };
      },
    },
    stopping: stopping.signal,
    logger: createLogger({ component: 'test', level: 'silent' }),
  } as unknown as StreamDeps;
  let text = '';
  const sink: Sink & { writableLength: number; isEnded: boolean; isDestroyed: boolean } = {
    writableLength: 0,
    writableNeedDrain: false,
    isEnded: false,
    isDestroyed: false,
    write(given: string) {
      text += given;
      return true;
    },
    once() {},
    end() {
      this.isEnded = true;
    },
    destroy() {
      this.isDestroyed = true;
    },
  };
  const ended = streamEvents(deps, {
    sink,
    types,
    after: after ?? null,
    caller,
    authenticate: async () => caller,
    signal: gone.signal,
  });
  return {
    sink,
    listeners,
    stopping,
    gone,
    ended,
    announce: (item: FeedItem | null) => listeners.forEach((listener) => listener(item)),
    async written(part: string) {
      await expect.poll(() => text).toContain(part);
    },
    positions: () => [...text.matchAll(/id: (\d+)\nevent/g)].map(([, id]) => Number(id)),
    async end() {
      gone.abort();
      await ended;
    },
  };
}
