import { describe, expect, test } from 'vitest';

import type { FeedItem } from '#contracts/events';
import { AppError } from '#errors';
import { createLogger } from '#telemetry';
import { streamEvents } from './event-stream.ts';
import type { Sink, StreamDeps } from './event-stream.ts';
import { createAgentPrincipal, createFeedItem } from '../principals.testing.ts';

const claims = createAgentPrincipal();
const caller = { principal: 'signed', claims };

describe('an event stream', () => {
  test('without Last-Event-ID contains only new events', async () => {
    const stage = start({ stored: createItems(1, 2, 3) });
    await stage.written('id: 3');

    stage.announce(createFeedItem(claims, 4));
    await stage.written('id: 4');
    await stage.end();

    expect(stage.positions()).toEqual([4]);
  });

  test('with a Last-Event-ID contains every later event once, even if live items arrive while stored ones are read', async () => {
    const storedItems = createItems(...Array.from({ length: 450 }, (_, index) => index + 1));
    const stage = start({
      stored: storedItems,
      after: 10,
      onPage(page) {
        // Three items are announced live while the second page is read. The first of them is also
        // in a page.
        if (page === 2) {
          storedItems.push(createFeedItem(claims, 451));
          for (const position of [451, 452, 453]) stage.announce(createFeedItem(claims, position));
        }
      },
    });
    await stage.written('id: 453');
    await stage.end();

    expect(stage.positions()).toEqual(Array.from({ length: 443 }, (_, index) => index + 11));
  });

  test('reads the stored feed again after the bus lost messages', async () => {
    const storedItems = createItems(1);
    const stage = start({ stored: storedItems, after: 1 });
    await stage.written('retry');
    stage.announce(createFeedItem(claims, 2));
    await stage.written('id: 2');

    storedItems.push(...createItems(2, 3, 4));
    stage.announce(null);
    await stage.written('id: 4');
    await stage.end();

    expect(stage.positions()).toEqual([2, 3, 4]);
  });

  test('leaves out events that the caller may not see or did not request', async () => {
    const stage = start({ types: ['approval.raised'] });
    await stage.written('id: 0');

    stage.announce(createFeedItem(createAgentPrincipal(), 1));
    stage.announce(createFeedItem(claims, 2, { type: 'rule.created' }));
    stage.announce(createFeedItem(claims, 3, { type: 'action.denied' }));
    stage.announce(createFeedItem(claims, 4));
    await stage.written('id: 4');
    await stage.end();

    expect(stage.positions()).toEqual([4]);
  });

  test('is closed when its client does not read', async () => {
    const stage = start({});
    await stage.written('id: 0');

    stage.sink.writableLength = 1_100_000;
    stage.announce(createFeedItem(claims, 1));
    await stage.ended;

    expect(stage.sink.isDestroyed).toBe(true);
    expect(stage.listeners.size).toBe(0);
  });

  test('ends when the feed cannot be read, so that the client reconnects', async () => {
    const stage = start({
      after: 1,
      onPage() {
        throw new AppError('unavailable', 'x');
      },
    });

    await stage.ended;

    expect(stage.sink.isEnded).toBe(true);
  });

  test('ends when the gateway stops or the client disconnects', async () => {
    const stoppedStream = start({});
    await stoppedStream.written('id: 0');
    stoppedStream.stopping.abort();
    await stoppedStream.ended;
    expect(stoppedStream.sink.isEnded).toBe(true);

    const closedStream = start({});
    closedStream.gone.abort();
    await closedStream.ended;
    expect(closedStream.listeners.size).toBe(0);
  });
});

function createItems(...positions: number[]): FeedItem[] {
  return positions.map((position) => createFeedItem(claims, position));
}

interface StreamSetup {
  readonly stored?: FeedItem[];
  readonly after?: number;
  readonly types?: Parameters<typeof streamEvents>[1]['types'];
  readonly onPage?: (page: number) => void;
}

function start({ stored = [], after, types = null, onPage }: StreamSetup) {
  const listeners = new Set<(item: FeedItem | null) => void>();
  const stopping = new AbortController();
  const disconnectController = new AbortController();
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
  const streamEnd = streamEvents(deps, {
    sink,
    types,
    after: after ?? null,
    caller,
    authenticate: async () => caller,
    signal: disconnectController.signal,
  });
  return {
    sink,
    listeners,
    stopping,
    gone: disconnectController,
    ended: streamEnd,
    announce: (item: FeedItem | null) => listeners.forEach((listener) => listener(item)),
    async written(part: string) {
      await expect.poll(() => text).toContain(part);
    },
    positions: () => [...text.matchAll(/id: (\d+)\nevent/g)].map(([, id]) => Number(id)),
    async end() {
      disconnectController.abort();
      await streamEnd;
    },
  };
}
