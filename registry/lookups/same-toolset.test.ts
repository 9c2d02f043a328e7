import { expect, test } from 'vitest';

import type { Toolset } from '../domain/toolset.ts';
import { readTools } from '../domain/tool-action.ts';
import { mergeOffered, toolsetOf } from '../domain/toolset.ts';
import { isSameToolset } from './same-toolset.ts';

const definitionsOf = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, at) => ({
    name: `tool_${at}`,
    description: 'x',
    inputSchema: {
      type: 'object',
      properties: { a: { type: 'string', description: 'd'.repeat(bytes) } },
    },
  }));

function toolset(description = 'x'): Toolset {
  const definitions = definitionsOf(200, 6_000);
  const last = definitions.at(-1);
  if (last !== undefined) last.description = description;
  return toolsetOf(
    '2025-11-25',
    mergeOffered([], readTools(definitions), () => true),
  );
}

test('toolsets are compared over many turns of the event loop', async () => {
  const [left, right] = [toolset(), toolset()];
  expect(JSON.stringify(left).length).toBeGreaterThan(2_000_000);
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  expect(await isSameToolset(left, right)).toBe(true);
  isOver = true;

  expect(turns).toBeGreaterThanOrEqual(15);
});

test.for<[what: string, other: Toolset]>([
  ['one tool is another', toolset('y')],
  ['a tool is missing', { ...toolset(), tools: toolset().tools.slice(1) }],
  [
    'there is one more',
    { ...toolset(), tools: [...toolset().tools, ...toolset().tools.slice(-1)] },
  ],
  ['the protocol is another', { ...toolset(), protocolVersion: '2025-06-18' }],
])('toolsets differ when %s', async ([, other]) => {
  expect(await isSameToolset(toolset(), other)).toBe(false);
  expect(await isSameToolset(other, toolset())).toBe(false);
});

test('a definition is hashed where it is read, and nowhere again', () => {
  const [read] = readTools(definitionsOf(1, 10));
  if (read === undefined) throw new Error('nothing was read');
  const [tool] = mergeOffered([], [{ ...read, hash: 'as it was read' }]);

  expect(tool?.offered?.hash).toBe('as it was read');
});
