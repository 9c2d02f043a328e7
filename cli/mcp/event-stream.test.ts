import fc from 'fast-check';
import { expect, test } from 'vitest';

import { readEvents } from './event-stream.ts';
import type { StreamEvent } from './event-stream.ts';
import { readLines } from './lines.ts';

async function* splitIntoPieces(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += size)
    yield bytes.subarray(start, start + size);
}

async function eventsOf(text: string, size = 7, limit = 1_000): Promise<StreamEvent[]> {
  return Array.fromAsync(readEvents(splitIntoPieces(text, size), limit));
}

test.each([
  ['data: a\n\n', [{ data: 'a' }]],
  ['data:a\r\n\r\ndata: b\r\rdata:  c\n\n', [{ data: 'a' }, { data: 'b' }, { data: ' c' }]],
  ['data: a\ndata: b\n\n', [{ data: 'a\nb' }]],
  ['data\n\n: comment\n\n', []],
  ['id: 1\ndata:\n\n', [{ id: '1', data: '' }]],
  ['retry: 20\n\nretry: x\n\n', [{ retry: 20, data: '' }]],
  ['event: message\ndata: a\n\nevent: ping\ndata: b\n\n', [{ data: 'a' }]],
  ['data: a\n\ndata: unfinished\n', [{ data: 'a' }]],
  ['id: a\0b\ndata: x\n\n', [{ data: 'x' }]],
  ['unknown: a\ndata: x:y\n\n', [{ data: 'x:y' }]],
])('the event stream %j contains the events %j', async (text, events) => {
  for (const size of [1, 2, 3, 1_000]) expect(await eventsOf(text, size)).toEqual(events);
});

test('the parsed event is the same no matter how the stream is split into chunks', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'binary' }),
      fc.integer({ min: 1, max: 9 }),
      async (text, size) => {
        const data = JSON.stringify({ text });
        expect(await eventsOf(`data: ${data}\r\n\r\n`, size, 10_000)).toEqual([{ data }]);
      },
    ),
    { numRuns: 500 },
  );
});

test.each([`data: ${'a'.repeat(2_000)}\n\n`, 'data: aaaaaaaaa\n'.repeat(200)])(
  'reading a stream fails at an event that is too large',
  async (text) => {
    await expect(eventsOf(text)).rejects.toThrow('more than 1000');
  },
);

test('lines are complete no matter how the chunks are cut, and a line that is too long is dropped', async () => {
  const text = 'one\r\n\n  two \nlöng-löng-löng\nthree';
  for (const size of [1, 2, 5, 100]) {
    const lines = await Array.fromAsync(readLines(splitIntoPieces(text, size), 10));
    expect(lines.map((line) => line?.toString())).toEqual(['one', '  two ', undefined, 'three']);
  }
});
